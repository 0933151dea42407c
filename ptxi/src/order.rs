//! In which order diverged lanes of a warp run, so that they meet again where the
//! hardware lets them meet: at the immediate post-dominator of the branch.
//!
//! Every instruction gets a number, and of the groups of lanes that could run, the one
//! with the lowest number runs. The numbers are a topological order of the control
//! flow graph in which each loop is contiguous: whatever lies between a branch and its
//! post-dominator comes before the post-dominator, so the lanes that arrive there first
//! wait for the others (thread frontiers). A jump back to a loop's header takes the
//! number of the loop's *latch*, a slot behind the whole loop: lanes that begin the
//! next iteration wait for those still in this one.
//!
//! Loops are found as strongly connected components. In each, the edges into its
//! header are cut and the rest is ordered in the same way; irreducible loops only lose
//! the choice of a good header.

use crate::instr::{ALWAYS, Instr, Op, Order, Program};

struct Graph {
    /// First instruction of each block, and one past the last block's end.
    first: Vec<u32>,
    successors: Vec<Vec<u32>>,
}

/// The order of a program whose functions begin at `starts` (ascending).
pub(crate) fn order(program: &Program, starts: &[u32]) -> Order {
    let mut out = vec![[0; 2]; program.code.len()];
    let mut next = 0;
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(program.code.len(), |&s| s as usize);
        order_function(program, start as usize, end, &mut next, &mut out);
    }
    out
}

/// Successors of an instruction that ends a block; `None` inside a block.
fn targets<'p>(program: &'p Program, x: &'p Instr) -> Option<(&'p [u32], bool)> {
    let falls = x.guard != ALWAYS || x.guard_not;
    match &x.op {
        Op::Branch { target } => Some((std::slice::from_ref(target), falls)),
        Op::BranchIndexed { table } => Some((&program.tables[*table as usize], falls)),
        Op::Return | Op::Exit | Op::Trap => Some((&[], falls)),
        _ => None,
    }
}

fn graph(program: &Program, start: usize, end: usize) -> Graph {
    let code = &program.code[start..end];
    let mut leader = vec![false; code.len() + 1];
    leader[0] = true;
    for (i, x) in code.iter().enumerate() {
        if let Some((list, _)) = targets(program, x) {
            leader[i + 1] = true;
            for &t in list {
                // Labels never lead out of their function.
                if let Some(flag) = leader.get_mut((t as usize).wrapping_sub(start)) {
                    *flag = true;
                }
            }
        }
    }
    let mut first: Vec<u32> = Vec::new();
    let mut block_of = vec![0u32; code.len()];
    for i in 0..code.len() {
        if leader[i] {
            first.push((start + i) as u32);
        }
        block_of[i] = first.len() as u32 - 1;
    }
    let blocks = first.len();
    first.push(end as u32);
    let mut successors = vec![Vec::new(); blocks];
    for (b, out) in successors.iter_mut().enumerate() {
        let last = first[b + 1] as usize - 1;
        let (list, falls) = targets(program, &program.code[last]).unwrap_or((&[], true));
        for &t in list {
            if let Some(&block) = block_of.get((t as usize).wrapping_sub(start)) {
                out.push(block);
            }
        }
        if falls && b + 1 < blocks {
            out.push(b as u32 + 1);
        }
    }
    Graph { first, successors }
}

enum Task {
    /// Number a block's instructions.
    Block(u32),
    /// Number the latch of the loop with this header block.
    Latch(u32),
    /// Order these blocks, ignoring edges into the header.
    Region(Vec<u32>, u32),
}

const NO_HEADER: u32 = u32::MAX;

fn order_function(program: &Program, start: usize, end: usize, next: &mut u32, out: &mut Order) {
    let graph = graph(program, start, end);
    let blocks = graph.successors.len();
    let mut predecessors = vec![Vec::new(); blocks];
    for (b, list) in graph.successors.iter().enumerate() {
        for &s in list {
            predecessors[s as usize].push(b as u32);
        }
    }
    let mut components = Components::new(blocks);
    let mut tasks = vec![Task::Region((0..blocks as u32).collect(), NO_HEADER)];
    while let Some(task) = tasks.pop() {
        match task {
            Task::Block(b) => {
                for at in graph.first[b as usize]..graph.first[b as usize + 1] {
                    out[at as usize] = [*next; 2];
                    *next += 1;
                }
            }
            Task::Latch(b) => {
                out[graph.first[b as usize] as usize][1] = *next;
                *next += 1;
            }
            Task::Region(nodes, header) => {
                // Tarjan's algorithm gives the last component first, which is how a
                // stack of tasks wants it.
                for list in components.find(&graph, &nodes, header) {
                    let b = list[0];
                    let loops = list.len() > 1
                        || (b != header && graph.successors[b as usize].contains(&b));
                    if !loops {
                        tasks.push(Task::Block(b));
                        continue;
                    }
                    let inner = loop_header(&list, &predecessors);
                    tasks.push(Task::Latch(inner));
                    tasks.push(Task::Region(list, inner));
                }
            }
        }
    }
}

/// The header of a loop: the first block that is entered from outside it.
fn loop_header(list: &[u32], predecessors: &[Vec<u32>]) -> u32 {
    let set: std::collections::HashSet<u32> = list.iter().copied().collect();
    let entered =
        |b: &&u32| **b == 0 || predecessors[**b as usize].iter().any(|p| !set.contains(p));
    list.iter().filter(entered).min().copied().unwrap_or(list[0])
}

/// Strongly connected components of parts of a graph (Tarjan, without recursion).
struct Components {
    /// Call of `find` that a node takes part in, and its discovery number there.
    region: Vec<u32>,
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    calls: u32,
}

impl Components {
    fn new(blocks: usize) -> Components {
        Components {
            region: vec![0; blocks],
            index: vec![0; blocks],
            low: vec![0; blocks],
            on_stack: vec![false; blocks],
            calls: 0,
        }
    }

    /// Components of `nodes` in reverse topological order; edges into `header` do not count.
    fn find(&mut self, graph: &Graph, nodes: &[u32], header: u32) -> Vec<Vec<u32>> {
        self.calls += 1;
        for &n in nodes {
            self.region[n as usize] = self.calls;
            self.index[n as usize] = 0;
        }
        let (mut out, mut stack, mut counter) = (Vec::new(), Vec::new(), 0);
        // A frame is a node and the position among its successors.
        let mut frames: Vec<(u32, usize)> = Vec::new();
        for &root in nodes {
            if self.index[root as usize] != 0 {
                continue;
            }
            frames.push((root, 0));
            while let Some(frame) = frames.last_mut() {
                let (node, position) = (frame.0 as usize, frame.1);
                if position == 0 {
                    counter += 1;
                    self.index[node] = counter;
                    self.low[node] = counter;
                    self.on_stack[node] = true;
                    stack.push(node as u32);
                }
                if let Some(&s) = graph.successors[node].get(position) {
                    frame.1 += 1;
                    let t = s as usize;
                    if self.region[t] != self.calls || s == header {
                        continue;
                    }
                    if self.index[t] == 0 {
                        frames.push((s, 0));
                    } else if self.on_stack[t] {
                        self.low[node] = self.low[node].min(self.index[t]);
                    }
                    continue;
                }
                frames.pop();
                if let Some(parent) = frames.last() {
                    let parent = parent.0 as usize;
                    self.low[parent] = self.low[parent].min(self.low[node]);
                }
                if self.low[node] == self.index[node] {
                    let mut component = Vec::new();
                    while let Some(member) = stack.pop() {
                        self.on_stack[member as usize] = false;
                        component.push(member);
                        if member as usize == node {
                            break;
                        }
                    }
                    out.push(component);
                }
            }
        }
        out
    }
}
