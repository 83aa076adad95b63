//! Numbers and byte strings in a row, written and read.
//!
//! The reader takes nothing that is not there: every length is compared with what remains.

use super::CodecError;

/// The bits of one byte that belong to the number; the eighth says that another byte follows.
const LOW: u8 = 0x7f;
const MORE: u8 = 0x80;

/// Bytes as they grow.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Appends these bytes.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a number, seven bits to a byte, lowest first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number > u64::from(LOW) {
            self.bytes.push(number as u8 & LOW | MORE);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Appends a number that may be negative: short when it is near zero.
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    /// Appends bytes after their length.
    pub(super) fn text(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.raw(bytes);
    }

    /// Everything so far.
    pub(super) fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// Everything.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes that are read from front to back.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from `start`.
    pub(super) fn new(bytes: &'a [u8], start: usize) -> Self {
        Self { rest: bytes.get(start..).unwrap_or_default(), length: bytes.len() }
    }

    /// Where the next byte is.
    pub(super) fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or_else(|| self.malformed())?;
        self.rest = rest;
        Ok(*array)
    }

    /// A number in its only form: within 64 bits, and without bytes that add nothing.
    pub(super) fn number(&mut self) -> Result<u64, CodecError> {
        let error = self.malformed();
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & LOW);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return Err(error);
            }
            number |= bits << shift;
            if byte & MORE == 0 {
                return Ok(number);
            }
        }
        Err(error)
    }

    /// A number that may be negative.
    pub(super) fn signed(&mut self) -> Result<i64, CodecError> {
        self.number().map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A number within 32 bits.
    pub(super) fn small_number(&mut self) -> Result<u32, CodecError> {
        let error = self.malformed();
        self.number()?.try_into().map_err(|_| error)
    }

    /// A number of things that take at least `each` bytes, of which so many can follow.
    pub(super) fn count(&mut self, each: usize) -> Result<usize, CodecError> {
        let error = self.malformed();
        let count = usize::try_from(self.number()?).ok();
        count.filter(|count| *count <= self.rest.len() / each).ok_or(error)
    }

    /// Bytes after their length.
    pub(super) fn text(&mut self) -> Result<&'a [u8], CodecError> {
        let error = self.malformed();
        let length = usize::try_from(self.number()?).ok();
        let (text, rest) = length.and_then(|length| self.rest.split_at_checked(length)).ok_or(error)?;
        self.rest = rest;
        Ok(text)
    }

    /// Makes sure that everything was read; gives back the end.
    pub(super) fn finish(self) -> Result<usize, CodecError> {
        if self.rest.is_empty() { Ok(self.length) } else { Err(self.malformed()) }
    }

    fn malformed(&self) -> CodecError {
        CodecError::Malformed { offset: self.offset() }
    }
}
