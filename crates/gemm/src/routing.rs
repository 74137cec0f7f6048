//! [`Routing`]: routes in the order of their slices, and the rows they name beside each other in that order.

use std::ops::Range;

use keepq_act::{ActBuf, ActFormat, ActRows, SharedActs};

use crate::operands::{Job, Weights};
use crate::{Driver, MatmulError, Route, StackError};

/// The memory that routes are sorted in. It grows to the most routes and slices it has seen.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// Where the next route of each slice goes; once all are placed, where its run ends.
    ends: Vec<usize>,
    /// Numbers of routes, those of a slice together and in their own order.
    order: Vec<usize>,
    runs: Vec<Run>,
    /// Routed rows, a buffer a format.
    gathered: [ActBuf; FORMATS.len()],
}

const FORMATS: [ActFormat; 3] = [ActFormat::F32, ActFormat::Q8_0, ActFormat::Q8_K];

/// A format's place among [`FORMATS`].
const fn place(format: ActFormat) -> usize {
    match format {
        ActFormat::F32 => 0,
        ActFormat::Q8_0 => 1,
        ActFormat::Q8_K => 2,
    }
}

/// All routes to one slice.
#[derive(Clone, Debug)]
struct Run {
    slice: usize,
    format: ActFormat,
    /// Their part of the order.
    routes: Range<usize>,
    /// The rows that were gathered for them, among those of the format.
    tokens: Range<usize>,
}

impl Routing {
    pub(crate) const fn new() -> Self {
        let gathered = [const { ActBuf::new() }; FORMATS.len()];
        Self { ends: Vec::new(), order: Vec::new(), runs: Vec::new(), gathered }
    }

    /// Sorts `routes` by slice and gathers the rows of `x` that they name, in the formats of the slices they lead to,
    /// quantized by `driver`.
    pub(crate) fn route<'w>(
        &mut self,
        driver: &Driver<'_>,
        x: &mut SharedActs<'_>,
        slices: usize,
        weights: impl Fn(usize) -> Weights<'w>,
        routes: &[Route],
    ) -> Result<Routed<'_>, MatmulError> {
        self.count(routes, x.m(), slices)?;
        self.sort(routes);
        self.find_runs(weights)?;
        let mut tokens = [None; FORMATS.len()];
        for ((format, buffer), tokens) in FORMATS.into_iter().zip(&mut self.gathered).zip(&mut tokens) {
            let mut runs = self.runs.iter().filter(|run| run.format == format).peekable();
            if runs.peek().is_some() {
                let order = runs.flat_map(|run| &self.order[run.routes.clone()]);
                let x = x.rows_by(format, |encoding| driver.encode(encoding))?;
                *tokens = Some(buffer.gather(x, order.map(|&route| routes[route].row as usize)));
            }
        }
        Ok(Routed { runs: &self.runs, order: &self.order, tokens })
    }

    /// Checks the routes, and counts how many each slice has.
    fn count(&mut self, routes: &[Route], m: usize, slices: usize) -> Result<(), MatmulError> {
        self.ends.clear();
        self.ends.resize(slices, 0);
        for (route, &Route { row, slice }) in routes.iter().enumerate() {
            if row as usize >= m {
                return Err(MatmulError::NoSuchRow { route, row, m });
            }
            let no_slice = MatmulError::NoSuchSlice { route, slice, slices };
            *self.ends.get_mut(slice as usize).ok_or(no_slice)? += 1;
        }
        Ok(())
    }

    /// The second half of a counting sort.
    fn sort(&mut self, routes: &[Route]) {
        let mut start = 0;
        for count in &mut self.ends {
            (*count, start) = (start, start + *count);
        }
        self.order.clear();
        self.order.resize(routes.len(), 0);
        for (i, route) in routes.iter().enumerate() {
            let next = &mut self.ends[route.slice as usize];
            self.order[*next] = i;
            *next += 1;
        }
    }

    fn find_runs<'w>(&mut self, weights: impl Fn(usize) -> Weights<'w>) -> Result<(), MatmulError> {
        self.runs.clear();
        // As many as these routes could have, so that their number alone decides what is allocated.
        self.runs.reserve(self.order.len().min(self.ends.len()));
        let (mut start, mut gathered) = (0, [0; FORMATS.len()]);
        for (slice, &end) in self.ends.iter().enumerate() {
            let routes = start..end;
            start = end;
            if !routes.is_empty() {
                let weights = weights(slice);
                let format = weights.format().ok_or(StackError::NoKernel { slice, ty: weights.ty() })?;
                let first = gathered[place(format)];
                let tokens = first..first + routes.len();
                gathered[place(format)] = tokens.end;
                self.runs.push(Run { slice, format, routes, tokens });
            }
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        let gathered: usize = self.gathered.iter().map(ActBuf::bytes).sum();
        size_of_val(&self.ends[..]) + size_of_val(&self.order[..]) + size_of_val(&self.runs[..]) + gathered
    }
}

/// Routes that were sorted, with their rows.
#[derive(Debug)]
pub(crate) struct Routed<'a> {
    runs: &'a [Run],
    order: &'a [usize],
    tokens: [Option<ActRows<'a>>; FORMATS.len()],
}

impl Routed<'_> {
    /// A job for each slice that is used. `weights` are those that the routes were sorted with, and their k is that of
    /// the rows.
    pub(crate) fn jobs<'s, 'w: 's>(
        &'s self,
        weights: impl Fn(usize) -> Weights<'w> + 's,
    ) -> impl Iterator<Item = Job<'s>> {
        self.runs.iter().map(move |run| {
            let tokens = self.tokens[place(run.format)].expect("gathered, as the run has this format");
            Job {
                operands: weights(run.slice).by(tokens).expect("the slice's format, and its k"),
                tokens: run.tokens.clone(),
                rows: Some(&self.order[run.routes.clone()]),
            }
        })
    }
}
