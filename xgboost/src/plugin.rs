//! A party of federated learning, as XGBoost's federated plugin sees it.
//!
//! *Vertical*: parties have other features of the same rows. The active party has the labels and
//! the private key. It encrypts the pairs of gradients (g, h) of all rows, each with randomness of
//! its own; the others add, for each node and each bin of their features, the ciphertexts of the
//! rows in it; the active party decrypts these sums. Its own bins are summed in the clear and never
//! leave it.
//!
//! *Horizontal*: parties have other rows of the same features, and share the private key, which the
//! server does not have. Each encrypts its histogram, and decrypts the sum of all of them.
//!
//! Numbers are multiples of `16^exponent` (default: exponent -10, steps of 2^-40), so that sums are
//! exact sums of the rounded numbers. Sums are randomized before they leave a party.

use std::fs;
use std::path::PathBuf;

use gpuint::Device;
use gpuint_paillier::{
    Decryptor, EncryptedNumbers, Encryptor, PrivateKey, PublicKey, numbers, to_f64,
};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::message::{self, Message};

/// Default exponent of 16.
const EXPONENT: i32 = -10;

/// A party.
#[derive(Debug)]
pub struct Plugin {
    device: Device,
    exponent: i32,
    /// The private key and what it prepares, of a party that has it.
    owner: Option<Owner>,
    /// Pairs of gradients of the active party.
    clear: Vec<f64>,
    /// Encrypted gradients of another party.
    encrypted: Option<(Encryptor, EncryptedNumbers)>,
    bins: Bins,
    /// Histogram of the active party's bins: all bins of all nodes, (g, h) each.
    own: Vec<f64>,
}

/// A private key, prepared on the device.
#[derive(Debug)]
struct Owner {
    encryptor: Encryptor,
    decryptor: Decryptor,
}

/// Bins of all features and rows.
#[derive(Debug, Default)]
struct Bins {
    /// First bin of each feature, and the number of all bins.
    starts: Vec<u32>,
    /// Bin of each feature of each row; negative where the party does not have it.
    of_rows: Vec<i32>,
}

impl Bins {
    fn features(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn total(&self) -> usize {
        self.starts.last().map_or(0, |&total| total as usize)
    }

    fn rows(&self) -> usize {
        self.of_rows.len() / self.features().max(1)
    }

    /// The bin of a feature of a row, if it has one.
    fn bin(&self, row: usize, feature: usize) -> Option<usize> {
        usize::try_from(self.of_rows[row * self.features() + feature]).ok()
    }
}

impl Plugin {
    /// Makes a party of arguments `NAME=VALUE`.
    ///
    /// | argument | meaning |
    /// |---|---|
    /// | `key=PATH` | private key as JWK; a party without one is passive |
    /// | `device=cpu`, `device=cuda:K` | device; else the first GPU, else the CPU |
    /// | `exponent=E` | numbers are multiples of `16^E` |
    /// | `name=NAME` | no effect: NVIDIA FLARE gives every plugin a name |
    ///
    /// # Errors
    /// [`Argument`](Error::Argument), [`File`](Error::File), and as [`PrivateKey::from_jwk`] and
    /// [`Device::cuda`].
    pub fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let (mut key, mut device, mut exponent) = (None, None, EXPONENT);
        for argument in arguments {
            let wrong = |rule| Error::Argument { argument: argument.to_owned(), rule };
            let (name, value) = argument.split_once('=').ok_or(wrong("NAME=VALUE"))?;
            match name {
                "key" => key = Some(read_key(value.into())?),
                "device" => device = Some(open(value).ok_or(wrong("cpu or cuda:K"))??),
                "exponent" => {
                    let in_range = |exponent: &i32| (-64..=0).contains(exponent);
                    exponent = value.parse().ok().filter(in_range).ok_or(wrong("from -64 to 0"))?;
                }
                "name" => {}
                _ => return Err(wrong("key, device, exponent or name")),
            }
        }
        let device = device.map_or_else(Device::new, Ok)?;
        let owner = |key: PrivateKey| -> Result<Owner> {
            let encryptor = prepared(&device, key.public())?;
            Ok(Owner { encryptor, decryptor: Decryptor::new(&device, &key)? })
        };
        let owner = key.map(owner).transpose()?;
        Ok(Self {
            device,
            exponent,
            owner,
            clear: Vec::new(),
            encrypted: None,
            bins: Bins::default(),
            own: Vec::new(),
        })
    }

    fn owner(&self) -> Result<&Owner> {
        self.owner.as_ref().ok_or(Error::Sequence("this party has no private key"))
    }

    /// Encrypts the numbers of the party that has the private key.
    fn encrypt(&self, values: &[f64]) -> Result<Vec<u8>> {
        let Owner { encryptor, .. } = self.owner()?;
        let rows = encryptor.encrypt_numbers(&numbers(values, Some(self.exponent))?)?;
        message::write(encryptor.key(), self.exponent, &[], &[rows])
    }

    /// Encrypts pairs of gradients, `g` and `h` of each row.
    ///
    /// # Errors
    /// As [`numbers`] and [`Encryptor::encrypt_numbers`]; rows are those of `pairs`.
    pub fn encrypt_gradients(&mut self, pairs: &[f32]) -> Result<Vec<u8>> {
        let pairs: Vec<f64> = pairs.iter().copied().map(f64::from).collect();
        let message = self.encrypt(&pairs)?;
        self.clear = pairs;
        Ok(message)
    }

    /// Takes the gradients that the active party encrypted.
    ///
    /// # Errors
    /// As [`message::read_all`] and [`Encryptor::ciphertexts`].
    pub fn take_gradients(&mut self, bytes: &[u8]) -> Result<()> {
        if self.owner.is_some() {
            return Ok(());
        }
        let messages = message::read_all(bytes)?;
        let [message] = &messages[..] else {
            return Err(Error::Message { bytes: bytes.len(), reason: "gradients are one message" });
        };
        let key = message.key.as_ref().ok_or(Error::Sequence("the gradients are empty"))?;
        let encryptor = match self.encrypted.take() {
            Some((encryptor, _)) if encryptor.key() == key => encryptor,
            _ => prepared(&self.device, key)?,
        };
        let rows = message.numbers(&encryptor)?;
        self.encrypted = Some((encryptor, rows));
        Ok(())
    }

    /// Takes the first bin of each feature with the number of all bins, and the bin of each feature
    /// of each row.
    ///
    /// # Errors
    /// [`Sequence`](Error::Sequence) for numbers that are no bins.
    pub fn take_bins(&mut self, starts: &[u32], of_rows: &[i32]) -> Result<()> {
        let bins = Bins { starts: starts.to_vec(), of_rows: of_rows.to_vec() };
        let is_whole = of_rows.is_empty() || of_rows.len().is_multiple_of(bins.features());
        if !starts.is_sorted() || starts.first().is_some_and(|&first| first != 0) || !is_whole {
            return Err(Error::Sequence("the bins of the features are not in order"));
        }
        let is_bin = |(place, &bin): (usize, &i32)| {
            let feature = place % bins.features();
            bin < 0 || (starts[feature]..starts[feature + 1]).contains(&(bin as u32))
        };
        if !of_rows.iter().enumerate().all(is_bin) {
            return Err(Error::Sequence("a row has a bin of another feature"));
        }
        self.bins = bins;
        Ok(())
    }

    /// Adds the gradients of the rows of each node, bin by bin.
    ///
    /// # Errors
    /// [`Sequence`](Error::Sequence) for rows without gradients or bins, and as
    /// [`EncryptedNumbers::sum_by`].
    pub fn sum_nodes(&mut self, nodes: &[&[u64]]) -> Result<Vec<u8>> {
        let bins = &self.bins;
        let pairs = match (&self.owner, &self.encrypted) {
            (Some(_), _) => self.clear.len() / 2,
            (None, Some((_, rows))) => rows.len() / 2,
            (None, None) => 0,
        };
        let rows = bins.rows().min(pairs) as u64;
        if nodes.iter().flat_map(|node| node.iter()).any(|&row| row >= rows) {
            return Err(Error::Sequence("a node has a row without gradients or bins"));
        }
        match &self.encrypted {
            Some((encryptor, rows)) if self.owner.is_none() => bins.sums(encryptor, rows, nodes),
            _ => {
                self.own = bins.clear_sums(&self.clear, nodes);
                Ok(message::empty())
            }
        }
    }

    /// Adds the histograms of all parties: (g, h) of all bins of all nodes of the last
    /// [`sum_nodes`](Self::sum_nodes). A passive party gets none.
    ///
    /// # Errors
    /// As [`message::read_all`] and [`Decryptor::decrypt_numbers`].
    pub fn decrypt_nodes(&mut self, bytes: &[u8]) -> Result<Vec<f64>> {
        if self.owner.is_none() {
            return Ok(Vec::new());
        }
        let mut sums = self.own.clone();
        let total = self.bins.total();
        for message in message::read_all(bytes)?.iter().filter(|message| message.key.is_some()) {
            let values = self.decrypt(&[message])?;
            let width = 2 * message.bins.len();
            let is_known = message.bins.iter().all(|&bin| (bin as usize) < total);
            if !is_known || values.len() * total != sums.len() * message.bins.len() {
                return Err(Error::Sequence("a party has sums of other nodes or bins"));
            }
            for (node, values) in values.chunks(width.max(1)).enumerate() {
                for (pair, &bin) in values.chunks(2).zip(&message.bins) {
                    let place = 2 * (node * total + bin as usize);
                    sums[place] += pair[0];
                    sums[place + 1] += pair[1];
                }
            }
        }
        Ok(sums)
    }

    /// Encrypts the histogram of a party that shares the private key.
    ///
    /// # Errors
    /// As [`encrypt_gradients`](Self::encrypt_gradients).
    pub fn encrypt_histogram(&self, histogram: &[f64]) -> Result<Vec<u8>> {
        self.encrypt(histogram)
    }

    /// Adds the histograms of parties that share the private key.
    ///
    /// # Errors
    /// As [`message::read_all`] and [`Decryptor::decrypt_numbers`], and
    /// [`Sequence`](Error::Sequence) for histograms of several lengths.
    pub fn decrypt_histograms(&self, bytes: &[u8]) -> Result<Vec<f64>> {
        let messages = message::read_all(bytes)?;
        self.decrypt(&messages.iter().collect::<Vec<_>>())
    }

    /// Decrypts the sum of columns of one length.
    fn decrypt(&self, messages: &[&Message]) -> Result<Vec<f64>> {
        let Owner { encryptor, decryptor } = self.owner()?;
        let mut sum: Option<EncryptedNumbers> = None;
        for message in messages {
            if message.key.as_ref() != Some(encryptor.key()) {
                return Err(Error::Sequence("a message is for another key"));
            }
            let rows = message.numbers(encryptor)?;
            sum = Some(match sum {
                None => rows,
                Some(sum) if sum.len() != rows.len() => {
                    return Err(Error::Sequence("the histograms have different lengths"));
                }
                Some(sum) => sum.add(&rows)?,
            });
        }
        let Some(sum) = sum else { return Ok(Vec::new()) };
        Ok(to_f64(&decryptor.decrypt_numbers(&sum)?)?)
    }
}

impl Bins {
    /// Adds gradients in the clear: (g, h) of all bins of all nodes.
    fn clear_sums(&self, pairs: &[f64], nodes: &[&[u64]]) -> Vec<f64> {
        let mut sums = vec![0.0; 2 * self.total() * nodes.len()];
        for (rows, sums) in nodes.iter().zip(sums.chunks_mut(2 * self.total().max(1))) {
            for row in rows.iter().map(|&row| row as usize) {
                for bin in (0..self.features()).filter_map(|feature| self.bin(row, feature)) {
                    sums[2 * bin] += pairs[2 * row];
                    sums[2 * bin + 1] += pairs[2 * row + 1];
                }
            }
        }
        sums
    }

    /// Adds encrypted gradients: the bins of the features that the party has, (g, h) of each, node
    /// by node.
    fn sums(
        &self,
        encryptor: &Encryptor,
        pairs: &EncryptedNumbers,
        nodes: &[&[u64]],
    ) -> Result<Vec<u8>> {
        let rows: Vec<(usize, usize)> = nodes
            .iter()
            .enumerate()
            .flat_map(|(node, rows)| rows.iter().map(move |&row| (node, row as usize)))
            .collect();
        let places: Vec<usize> = rows.iter().flat_map(|&(_, row)| [2 * row, 2 * row + 1]).collect();
        let gathered = pairs.gather(&places)?;
        let has = |feature: usize| (0..self.rows()).any(|row| self.bin(row, feature).is_some());
        let features: Vec<usize> = (0..self.features()).filter(|&feature| has(feature)).collect();
        let range = |feature: usize| self.starts[feature]..self.starts[feature + 1];
        let named: Vec<u32> = features.iter().flat_map(|&feature| range(feature)).collect();

        // Row 2 (node bins + bin) + k of each column; one more group has the rows without a bin.
        let exponent = pairs.exponents().first().copied().unwrap_or(0);
        let mut columns = Vec::new();
        for &feature in &features {
            let (first, bins) = (range(feature).start as usize, range(feature).len());
            let without = 2 * bins * nodes.len();
            let groups: Vec<usize> = rows
                .iter()
                .flat_map(|&(node, row)| match self.bin(row, feature) {
                    Some(bin) => [0, 1].map(|part| 2 * (node * bins + bin - first) + part),
                    None => [without; 2],
                })
                .collect();
            let sums = gathered.sum_by(&groups, without + 1)?;
            let sums = sums.gather(&(0..without).collect::<Vec<_>>())?;
            columns.push((2 * bins, encryptor.rerandomize(sums.ciphertexts())?));
        }
        let mut parts = Vec::new();
        for node in 0..nodes.len() {
            for (width, column) in &columns {
                let part: Vec<usize> = (node * width..(node + 1) * width).collect();
                parts.push(EncryptedNumbers::new(column.gather(&part)?, vec![exponent; *width])?);
            }
        }
        if parts.is_empty() {
            return Ok(message::empty());
        }
        message::write(encryptor.key(), exponent, &named, &parts)
    }
}

/// Prepares the fastest form of encryption that the key allows.
fn prepared(device: &Device, key: &PublicKey) -> Result<Encryptor> {
    Ok(match key.short_base() {
        Some(_) => Encryptor::short(device, key)?,
        None => Encryptor::new(device, key)?,
    })
}

fn read_key(path: PathBuf) -> Result<PrivateKey> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(PrivateKey::from_jwk(&Zeroizing::new(text))?),
        Err(source) => Err(Error::File { path, source }),
    }
}

/// Opens a device by its name; `None` for a name of another form.
fn open(name: &str) -> Option<gpuint::Result<Device>> {
    if name == "cpu" {
        return Some(Ok(Device::cpu()));
    }
    name.strip_prefix("cuda:")?.parse().ok().map(Device::cuda)
}
