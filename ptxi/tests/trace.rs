//! Traces of pairs of runs that differ in one value.

mod common;
use common::run_kernel;
use ptxi::{Difference, Launch, Trace};

/// Runs a body with a value in `%r5`, and returns the trace.
fn trace(body: &str, input: u32) -> Trace {
    let launch = Launch::new(2, 32).traced(true);
    match run_kernel(&format!("mov.u32 %r5, {input};\n{body}"), &launch) {
        Ok((_, counts)) => {
            assert_eq!(counts.trace.len() as u64, counts.total.warp);
            counts.trace
        }
        Err(error) => panic!("{error}"),
    }
}

fn difference(body: &str) -> Option<Difference> {
    trace(body, 3).difference(&trace(body, 5))
}

#[test]
fn values_are_in_no_trace() {
    assert_eq!(difference("mul.lo.u32 %r2, %r5, %r5; st.global.u32 [%out], %r2;"), None);
    // A value that is selected by a predicate.
    assert_eq!(
        difference("setp.lt.u32 %p0, %r5, 4; selp.u32 %r2, 1, 2, %p0; st.global.u32 [%out], %r2;"),
        None
    );
}

#[test]
fn branch_by_a_value_is_found() {
    let found = difference(
        "setp.lt.u32 %p0, %r5, 4;\n@%p0 bra OVER;\nadd.u32 %r2, %r5, 1;\nOVER:\n
         st.global.u32 [%out], %r5;",
    );
    let Difference { lines: [first, second], lanes, .. } = found.expect("a difference");
    assert_eq!(first, second);
    assert_eq!(lanes, [!0, 0]);
}

#[test]
fn predicate_by_a_value_is_found() {
    let found = difference("setp.lt.u32 %p0, %r5, 4; @%p0 add.u32 %r5, %r5, 1;");
    assert_eq!(found.expect("a difference").lanes, [!0, 0]);
}

#[test]
fn address_by_a_value_is_found() {
    let body = "mov.u32 %r2, sm; mad.lo.u32 %r2, %r5, 4, %r2; st.shared.u32 [%r2], %r5;";
    assert!(difference(body).is_some());
}

#[test]
fn longer_run_is_found() {
    let body = "LOOP:\nsub.u32 %r5, %r5, 1; setp.gt.u32 %p0, %r5, 0;\n@%p0 bra LOOP;";
    assert!(difference(body).is_some());
    // A trace that is the beginning of another.
    let [one, other] = [trace("", 3), Trace::default()];
    let difference = one.difference(&other).expect("a difference");
    assert_eq!((difference.step, difference.lines[1]), (0, 0));
    assert!(other.is_empty() && !one.is_empty());
}
