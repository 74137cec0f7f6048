//! [`ActBuf`]: the memory that quantized activations live in.

use alloc::vec::Vec;

use keepq_blocks::{BlockQ8_0, BlockQ8_1};

use crate::rows::check_length;
use crate::{ActError, ActFormat, ActRows, Acts, Q8Rows, quantize_block, quantize_super_block};

/// Owned, reusable memory for the activations of one `x[m,k]`.
///
/// It grows to the largest `m * k` it has seen and never shrinks: after that, quantizing and gathering allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct ActBuf {
    /// Rows that were gathered; floats of the caller's are viewed where they are.
    floats: Vec<f32>,
    q8_0: Q8Buf,
    q8_k: Q8Buf,
}

/// The memory of one format.
#[derive(Clone, Debug, Default)]
struct Q8Buf {
    codes: Vec<[i8; 32]>,
    scales: Vec<f32>,
    sums: Vec<[i16; 2]>,
}

impl Q8Buf {
    const fn new() -> Self {
        Self { codes: Vec::new(), scales: Vec::new(), sums: Vec::new() }
    }

    fn clear(&mut self) {
        self.codes.clear();
        self.scales.clear();
        self.sums.clear();
    }

    /// Makes room for blocks of `len` elements, as many as there are.
    fn fit(&mut self, blocks: usize, len: usize) {
        self.scales.resize(blocks, 0.0);
        self.codes.resize(blocks * len / 32, [0; 32]);
        self.sums.resize(blocks * len / 32, [0; 2]);
    }

    /// All that there is room for.
    fn blocks_mut(&mut self) -> BlocksMut<'_> {
        BlocksMut { codes: &mut self.codes, scales: &mut self.scales, sums: &mut self.sums }
    }

    fn extend(&mut self, rows: Q8Rows<'_>) {
        self.codes.extend_from_slice(rows.codes);
        self.scales.extend_from_slice(rows.scales);
        self.sums.extend_from_slice(rows.sums);
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.codes[..]) + size_of_val(&self.scales[..]) + size_of_val(&self.sums[..])
    }

    fn rows(&self) -> Q8Rows<'_> {
        Q8Rows { codes: &self.codes, scales: &self.scales, sums: &self.sums }
    }
}

/// Blocks that are to be overwritten.
#[derive(Debug)]
struct BlocksMut<'a> {
    codes: &'a mut [[i8; 32]],
    scales: &'a mut [f32],
    sums: &'a mut [[i16; 2]],
}

impl BlocksMut<'_> {
    /// Overwrites all of them by scales, codes and their sums.
    #[inline(always)]
    fn fill<B, const LEN: usize>(&mut self, blocks: &[B], encode: impl Fn(&B) -> (f32, [i8; LEN])) {
        let Self { codes: all_codes, scales, sums: all_sums } = self;
        for i in 0..blocks.len() {
            let (scale, codes) = encode(&blocks[i]);
            scales[i] = scale;
            for (j, group) in codes.as_chunks::<32>().0.iter().enumerate() {
                let at = i * (LEN / 32) + j;
                all_codes[at] = *group;
                all_sums[at] = [sum(&group[..16]), sum(&group[16..])];
            }
        }
    }
}

/// The sum of sixteen codes: at most 16 * 127 in magnitude.
#[inline(always)]
fn sum(codes: &[i8]) -> i16 {
    codes.iter().map(|&q| i16::from(q)).sum()
}

impl ActBuf {
    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self { floats: Vec::new(), q8_0: Q8Buf::new(), q8_k: Q8Buf::new() }
    }

    /// Quantizes `x`, `m` rows of `k` elements. With [`ActFormat::F32`] the result is a view of `x` itself.
    ///
    /// # Errors
    /// [`ActError`] where `k` is no multiple of the format's block or `x` is not `m * k` elements.
    pub fn quantize<'a>(
        &'a mut self,
        format: ActFormat,
        m: usize,
        k: usize,
        x: &'a [f32],
    ) -> Result<ActRows<'a>, ActError> {
        self.quantize_by(format, m, k, x, |mut encoding| encoding.run())
    }

    /// [`quantize`](Self::quantize) with the work done by `run`, which calls [`Encoding::run`] from where the compiler may
    /// use the instructions that the machine has. The bits are the same; without that call they are any.
    ///
    /// # Errors
    /// As [`quantize`](Self::quantize).
    pub fn quantize_by<'a>(
        &'a mut self,
        format: ActFormat,
        m: usize,
        k: usize,
        x: &'a [f32],
        run: impl FnOnce(Encoding<'_>),
    ) -> Result<ActRows<'a>, ActError> {
        if !k.is_multiple_of(format.block_len()) {
            return Err(ActError::RaggedRow { format, k });
        }
        check_length(m, k, x.len())?;
        let to = match format {
            ActFormat::F32 => return ActRows::f32(m, k, x),
            ActFormat::Q8_0 => &mut self.q8_0,
            ActFormat::Q8_K => &mut self.q8_k,
        };
        to.fit(x.len() / format.block_len(), format.block_len());
        run(Encoding { x, format, to: to.blocks_mut() });
        Ok(self.view(format, m, k))
    }

    /// Lends the buffer to several matrices that read the same `x`, whatever formats their types want: each format is
    /// quantized when it is first asked for, and once.
    pub fn share<'a>(&'a mut self, m: usize, k: usize, x: &'a [f32]) -> SharedActs<'a> {
        SharedActs { buf: self, m, k, x, has_q8_0: false, has_q8_k: false }
    }

    /// Copies rows of `x`, in any order and as often as they are named; they keep their format, and nothing is quantized
    /// again.
    ///
    /// ```
    /// use keepq_act::{ActBuf, ActFormat, Acts};
    ///
    /// let x: Vec<f32> = (0..96).map(|i| i as f32).collect();
    /// let (mut buffer, mut gathered) = (ActBuf::new(), ActBuf::new());
    /// let all = buffer.quantize(ActFormat::Q8_0, 3, 32, &x)?;
    /// let some = gathered.gather(all, [2, 0, 2]);
    /// let (Acts::Q8_0(all), Acts::Q8_0(some)) = (all.typed(), some.typed()) else { unreachable!() };
    /// assert_eq!(some.codes, [all.codes[2], all.codes[0], all.codes[2]]);
    /// # Ok::<(), keepq_act::ActError>(())
    /// ```
    ///
    /// # Panics
    /// Where `x` has no such row: it is the caller's arithmetic, not input.
    pub fn gather(&mut self, x: ActRows<'_>, rows: impl IntoIterator<Item = usize>) -> ActRows<'_> {
        match x.format() {
            ActFormat::F32 => self.floats.clear(),
            ActFormat::Q8_0 => self.q8_0.clear(),
            ActFormat::Q8_K => self.q8_k.clear(),
        }
        let mut m = 0;
        for row in rows {
            match x.tokens(row..row + 1).typed() {
                Acts::F32(row) => self.floats.extend_from_slice(row),
                Acts::Q8_0(row) => self.q8_0.extend(row),
                Acts::Q8_K(row) => self.q8_k.extend(row),
            }
            m += 1;
        }
        self.view(x.format(), m, x.k())
    }

    /// Takes activations in ggml's Q8_0 form: `m * k / 32` blocks. The sums are computed here.
    ///
    /// # Errors
    /// [`ActError`] where the blocks are not `m` rows of `k` elements or a code is -128.
    pub fn load_q8_0(&mut self, m: usize, k: usize, blocks: &[BlockQ8_0]) -> Result<ActRows<'_>, ActError> {
        self.load(m, k, blocks, |block| (block.d.to_f32(), block.qs))
    }

    /// Takes activations in ggml's Q8_1 form: `m * k / 32` blocks. Their f16 sums are not read.
    ///
    /// # Errors
    /// [`ActError`] where the blocks are not `m` rows of `k` elements or a code is -128.
    pub fn load_q8_1(&mut self, m: usize, k: usize, blocks: &[BlockQ8_1]) -> Result<ActRows<'_>, ActError> {
        self.load(m, k, blocks, |block| (block.d.to_f32(), block.qs))
    }

    fn load<B>(
        &mut self,
        m: usize,
        k: usize,
        blocks: &[B],
        parts: impl Fn(&B) -> (f32, [i8; 32]),
    ) -> Result<ActRows<'_>, ActError> {
        if !k.is_multiple_of(32) {
            return Err(ActError::RaggedRow { format: ActFormat::Q8_0, k });
        }
        check_length(m, k / 32, blocks.len())?;
        if let Some(block) = blocks.iter().position(|block| parts(block).1.contains(&i8::MIN)) {
            return Err(ActError::CodeOutOfRange { block });
        }
        self.q8_0.fit(blocks.len(), 32);
        self.q8_0.blocks_mut().fill(blocks, parts);
        Ok(self.view(ActFormat::Q8_0, m, k))
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.floats[..]) + self.q8_0.bytes() + self.q8_k.bytes()
    }

    /// What was written last in a format.
    fn view(&self, format: ActFormat, m: usize, k: usize) -> ActRows<'_> {
        let typed = match format {
            ActFormat::F32 => Acts::F32(&self.floats),
            ActFormat::Q8_0 => Acts::Q8_0(self.q8_0.rows()),
            ActFormat::Q8_K => Acts::Q8_K(self.q8_k.rows()),
        };
        ActRows::new(typed, m, k)
    }
}

/// Activations that wait to be quantized: see [`ActBuf::quantize_by`].
#[derive(Debug)]
pub struct Encoding<'a> {
    x: &'a [f32],
    format: ActFormat,
    to: BlocksMut<'a>,
}

impl Encoding<'_> {
    /// Elements of all of them.
    #[must_use]
    pub const fn elements(&self) -> usize {
        self.x.len()
    }

    /// Splits off the first elements, at most `count` up to the end of a block; `None` where none are left. Several threads may
    /// quantize the parts.
    ///
    /// ```
    /// use keepq_act::{ActBuf, ActFormat};
    ///
    /// let (mut whole, mut parted, x) = (ActBuf::new(), ActBuf::new(), [0.5; 96]);
    /// let whole = whole.quantize(ActFormat::Q8_0, 1, 96, &x)?;
    /// let parted = parted.quantize_by(ActFormat::Q8_0, 1, 96, &x, |mut rest| {
    ///     while let Some(mut part) = rest.take_front(40) {
    ///         assert!([64, 32].contains(&part.elements()));
    ///         part.run();
    ///     }
    /// })?;
    /// assert_eq!(format!("{whole:?}"), format!("{parted:?}"));
    /// # Ok::<(), keepq_act::ActError>(())
    /// ```
    pub fn take_front(&mut self, count: usize) -> Option<Self> {
        if self.x.is_empty() {
            return None;
        }
        let len = count.clamp(1, self.x.len()).next_multiple_of(self.format.block_len());
        let (blocks, groups) = (len / self.format.block_len(), len / 32);
        let to = BlocksMut {
            codes: self.to.codes.split_off_mut(..groups)?,
            scales: self.to.scales.split_off_mut(..blocks)?,
            sums: self.to.sums.split_off_mut(..groups)?,
        };
        Some(Self { x: self.x.split_off(..len)?, format: self.format, to })
    }

    /// Quantizes them, in code that is compiled for what the caller is compiled for.
    #[inline(always)]
    #[allow(
        clippy::redundant_closure,
        reason = "a function that is passed by its name is called through a shim, which is compiled for the baseline"
    )]
    pub fn run(&mut self) {
        if self.format == ActFormat::Q8_0 {
            self.to.fill(
                self.x.as_chunks().0,
                #[inline(always)]
                |block| quantize_block(block),
            );
        } else {
            self.to.fill(
                self.x.as_chunks().0,
                #[inline(always)]
                |block| quantize_super_block(block),
            );
        }
    }
}

/// One `x[m,k]` for several matrices: see [`ActBuf::share`].
#[derive(Debug)]
pub struct SharedActs<'a> {
    buf: &'a mut ActBuf,
    m: usize,
    k: usize,
    x: &'a [f32],
    has_q8_0: bool,
    has_q8_k: bool,
}

impl SharedActs<'_> {
    /// Tokens.
    #[must_use]
    pub const fn m(&self) -> usize {
        self.m
    }

    /// Elements of a row.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The activations in `format`.
    ///
    /// # Errors
    /// As [`ActBuf::quantize`].
    pub fn rows(&mut self, format: ActFormat) -> Result<ActRows<'_>, ActError> {
        self.rows_by(format, |mut encoding| encoding.run())
    }

    /// [`rows`](Self::rows), quantized by `run` if they are not yet: see [`ActBuf::quantize_by`].
    ///
    /// # Errors
    /// As [`ActBuf::quantize`].
    pub fn rows_by(&mut self, format: ActFormat, run: impl FnOnce(Encoding<'_>)) -> Result<ActRows<'_>, ActError> {
        let held = match format {
            // Floats are not copied to the buffer, but viewed where they are.
            ActFormat::F32 => return ActRows::f32(self.m, self.k, self.x),
            ActFormat::Q8_0 => &mut self.has_q8_0,
            ActFormat::Q8_K => &mut self.has_q8_k,
        };
        if !*held {
            self.buf.quantize_by(format, self.m, self.k, self.x, run)?;
            *held = true;
        }
        Ok(self.buf.view(format, self.m, self.k))
    }

    /// The activations in a format that [`rows`](Self::rows) was asked for before, floats at any time: several formats can be read at
    /// once. `None` where they are not quantized yet.
    ///
    /// ```
    /// use keepq_act::{ActBuf, ActFormat};
    ///
    /// let (mut buffer, x) = (ActBuf::new(), [0.5; 64]);
    /// let mut x = buffer.share(2, 32, &x);
    /// assert!(x.held(ActFormat::Q8_0).is_none());
    /// x.rows(ActFormat::Q8_0)?;
    /// let (codes, floats) = (x.held(ActFormat::Q8_0), x.held(ActFormat::F32));
    /// assert!(codes.is_some_and(|rows| rows.m() == 2) && floats.is_some());
    /// # Ok::<(), keepq_act::ActError>(())
    /// ```
    #[must_use]
    pub fn held(&self, format: ActFormat) -> Option<ActRows<'_>> {
        match format {
            ActFormat::F32 => ActRows::f32(self.m, self.k, self.x).ok(),
            ActFormat::Q8_0 => self.has_q8_0.then(|| self.buf.view(format, self.m, self.k)),
            ActFormat::Q8_K => self.has_q8_k.then(|| self.buf.view(format, self.m, self.k)),
        }
    }
}

#[cfg(test)]
mod tests {
    use keepq_blocks::F16;

    use super::*;
    use crate::Acts;

    fn blocks(rows: ActRows<'_>) -> Q8Rows<'_> {
        match rows.typed() {
            Acts::Q8_0(rows) | Acts::Q8_K(rows) => rows,
            Acts::F32(_) => panic!("quantized rows expected"),
        }
    }

    #[test]
    fn shapes_are_checked() {
        let mut buffer = ActBuf::new();
        let x = [0.0; 96];
        assert_eq!(
            buffer.quantize(ActFormat::Q8_0, 2, 48, &x).unwrap_err(),
            ActError::RaggedRow { format: ActFormat::Q8_0, k: 48 }
        );
        assert_eq!(
            buffer.quantize(ActFormat::Q8_0, 2, 32, &x).unwrap_err(),
            ActError::WrongLength { m: 2, k: 32, expected: 64, found: 96 }
        );
        assert!(matches!(buffer.quantize(ActFormat::Q8_0, usize::MAX, 32, &x).unwrap_err(), ActError::TooLarge { .. }));
        assert_eq!(buffer.quantize(ActFormat::Q8_0, 0, 32, &[]).unwrap().m(), 0);
        assert_eq!(buffer.quantize(ActFormat::F32, 3, 32, &x).unwrap().format(), ActFormat::F32);
    }

    #[test]
    fn tokens_are_rows_of_whole_blocks() {
        let x: Vec<f32> = (0..192).map(|i| ((i * 7) % 31) as f32 - 15.0).collect();
        let mut buffer = ActBuf::new();
        let rows = buffer.quantize(ActFormat::Q8_0, 3, 64, &x).unwrap();
        let (all, last) = (blocks(rows), blocks(rows.tokens(2..3)));
        assert_eq!(last.codes, &all.codes[4..]);
        for (codes, sum) in all.codes.iter().zip(all.sums) {
            let sums = [&codes[..16], &codes[16..]].map(|half| half.iter().map(|&q| i16::from(q)).sum::<i16>());
            assert_eq!(sums, *sum);
        }

        let mut alone = ActBuf::new();
        let alone = blocks(alone.quantize(ActFormat::Q8_0, 1, 64, &x[128..]).unwrap());
        assert_eq!((alone.codes, alone.scales, alone.sums), (last.codes, last.scales, last.sums));
    }

    #[test]
    fn super_blocks_are_eight_groups_with_one_scale() {
        let x: Vec<f32> = (0..1024).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
        let mut buffer = ActBuf::new();
        let mut shared = buffer.share(2, 512, &x);
        assert_eq!(blocks(shared.rows(ActFormat::Q8_0).unwrap()).scales.len(), 32);
        let rows = shared.rows(ActFormat::Q8_K).unwrap();
        let (all, last) = (blocks(rows), blocks(rows.tokens(1..2)));
        assert_eq!((all.codes.len(), all.scales.len(), all.sums.len()), (32, 4, 32));
        assert_eq!((last.codes, last.scales, last.sums), (&all.codes[16..], &all.scales[2..], &all.sums[16..]));
        let ragged = ActError::RaggedRow { format: ActFormat::Q8_K, k: 128 };
        assert_eq!(buffer.quantize(ActFormat::Q8_K, 8, 128, &x).unwrap_err(), ragged);
    }

    #[test]
    fn rows_are_gathered_as_they_are() {
        let x: Vec<f32> = (0..3 * 512).map(|i| (i as f32).sin()).collect();
        let (mut buffer, mut gathered) = (ActBuf::new(), ActBuf::new());
        for order in [&[2, 0, 2, 1, 1][..], &[1], &[]] {
            for format in [ActFormat::F32, ActFormat::Q8_0, ActFormat::Q8_K] {
                let all = buffer.quantize(format, 3, 512, &x).unwrap();
                let some = gathered.gather(all, order.iter().copied());
                assert_eq!((some.format(), some.m(), some.k()), (format, order.len(), 512));
                for (i, &row) in order.iter().enumerate() {
                    match (some.tokens(i..i + 1).typed(), all.tokens(row..row + 1).typed()) {
                        (Acts::F32(got), Acts::F32(want)) => assert_eq!(got, want),
                        (Acts::Q8_0(got), Acts::Q8_0(want)) | (Acts::Q8_K(got), Acts::Q8_K(want)) => {
                            assert_eq!((got.codes, got.scales, got.sums), (want.codes, want.scales, want.sums));
                        }
                        pair => panic!("{pair:?}"),
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "tokens 3..4 of 3")]
    fn a_row_that_is_not_there_is_not_gathered() {
        ActBuf::new().gather(ActRows::f32(3, 1, &[0.0; 3]).unwrap(), [3]);
    }

    #[test]
    fn ggmls_forms_are_taken_with_their_sums_recomputed() {
        let x: Vec<f32> = (0..64).map(|i| (i as f32).sin()).collect();
        let (x_blocks, _) = x.as_chunks::<32>();
        let q8_0: Vec<BlockQ8_0> = x_blocks.iter().map(BlockQ8_0::encode).collect();
        let mut q8_1: Vec<BlockQ8_1> = x_blocks.iter().map(BlockQ8_1::encode).collect();
        q8_1[0].s = F16::from_f32(f32::INFINITY);

        let (mut a, mut b, mut c) = (ActBuf::new(), ActBuf::new(), ActBuf::new());
        let want = blocks(a.quantize(ActFormat::Q8_0, 1, 64, &x).unwrap());
        for got in [blocks(b.load_q8_0(1, 64, &q8_0).unwrap()), blocks(c.load_q8_1(1, 64, &q8_1).unwrap())] {
            assert_eq!((got.codes, got.scales, got.sums), (want.codes, want.scales, want.sums));
        }

        q8_1[1].qs[9] = -128;
        assert_eq!(c.load_q8_1(1, 64, &q8_1).unwrap_err(), ActError::CodeOutOfRange { block: 1 });
        assert!(matches!(b.load_q8_0(2, 64, &q8_0), Err(ActError::WrongLength { .. })));
        assert!(matches!(b.load_q8_0(2, 48, &q8_0), Err(ActError::RaggedRow { .. })));
    }

    #[test]
    fn a_shared_buffer_gives_what_its_own_would() {
        let x: Vec<f32> = (0..64).map(|i| (i as f32).cos()).collect();
        let (mut a, mut b) = (ActBuf::new(), ActBuf::new());
        let want = blocks(a.quantize(ActFormat::Q8_0, 2, 32, &x).unwrap());
        let mut shared = b.share(2, 32, &x);
        for _ in 0..2 {
            assert!(matches!(shared.rows(ActFormat::F32).unwrap().typed(), Acts::F32(same) if same == x));
            let got = blocks(shared.rows(ActFormat::Q8_0).unwrap());
            assert_eq!((got.codes, got.scales, got.sums), (want.codes, want.scales, want.sums));
        }
        assert!(b.share(2, 31, &x[..62]).rows(ActFormat::Q8_0).is_err());
    }

    #[test]
    fn a_buffer_that_has_grown_allocates_no_more() {
        let mut buffer = ActBuf::new();
        buffer.quantize(ActFormat::Q8_0, 4, 64, &[1.0; 256]).unwrap();
        let capacity = buffer.q8_0.codes.capacity();
        buffer.quantize(ActFormat::Q8_0, 2, 64, &[1.0; 128]).unwrap();
        assert_eq!(buffer.q8_0.codes.capacity(), capacity);
    }
}
