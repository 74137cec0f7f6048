//! [`Target`]: the types that a model can be quantized to, and what stands in for them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use keepq_checkpoint::{Method, ZeroPoints};
use keepq_gguf::GgmlType;

/// A type to quantize to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    ty: GgmlType,
    file_type: u32,
}

/// All of them, with the number that llama.cpp stores for the type as `general.file_type` (its `enum llama_ftype`).
///
/// Q3_K, Q4_K and Q5_K have several, for mixtures of types; these are the ones that its `llama-quantize` takes the plain
/// names for.
const TARGETS: [Target; 13] = [
    Target { ty: GgmlType::F32, file_type: 0 },
    Target { ty: GgmlType::F16, file_type: 1 },
    Target { ty: GgmlType::BF16, file_type: 32 },
    Target { ty: GgmlType::Q4_0, file_type: 2 },
    Target { ty: GgmlType::Q4_1, file_type: 3 },
    Target { ty: GgmlType::Q5_0, file_type: 8 },
    Target { ty: GgmlType::Q5_1, file_type: 9 },
    Target { ty: GgmlType::Q8_0, file_type: 7 },
    Target { ty: GgmlType::Q2_K, file_type: 10 },
    Target { ty: GgmlType::Q3_K, file_type: 12 },
    Target { ty: GgmlType::Q4_K, file_type: 15 },
    Target { ty: GgmlType::Q5_K, file_type: 17 },
    Target { ty: GgmlType::Q6_K, file_type: 18 },
];

/// The forms of checkpoints.
const METHODS: [Method; 5] =
    [Method::CpuInt4, Method::Gptq(ZeroPoints::LessOne), Method::Awq, Method::W4A8, Method::Int4];

/// What to quantize to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// A GGUF file with this type.
    Gguf(Target),
    /// A checkpoint of this form.
    Checkpoint(Method),
}

impl To {
    /// Parses a name, for the command line; `ignore_case` is the argument's.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        let names = TARGETS.iter().map(|target| target.ty.name()).chain(METHODS.iter().map(|method| method.name()));
        PossibleValuesParser::new(names)
            .try_map(|name| Self::named(&name).ok_or_else(|| format!("no type is called {name:?}")))
    }

    fn named(name: &str) -> Option<Self> {
        let method = METHODS.into_iter().find(|method| method.name().eq_ignore_ascii_case(name));
        method.map(Self::Checkpoint).or_else(|| Target::named(name).map(Self::Gguf))
    }
}

impl Target {
    /// Parses a name of a type, for the command line; `ignore_case` is the argument's.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        PossibleValuesParser::new(TARGETS.map(|target| target.ty.name()))
            .try_map(|name| Self::named(&name).ok_or_else(|| format!("no type is called {name:?}")))
    }

    fn named(name: &str) -> Option<Self> {
        let ty = GgmlType::from_name(name)?;
        TARGETS.into_iter().find(|target| target.ty == ty)
    }

    /// The type.
    pub(crate) const fn ty(self) -> GgmlType {
        self.ty
    }

    /// The number of the type in `general.file_type`.
    pub(super) const fn file_type(self) -> u32 {
        self.file_type
    }

    /// The type for rows of `k` elements: the type itself where they are whole blocks of it, else llama.cpp's choice of a
    /// type with smaller blocks, of about as many bits or more.
    pub(super) fn for_rows_of(self, k: u64) -> GgmlType {
        let divides = |ty: GgmlType| k.is_multiple_of(ty.block_len() as u64);
        if divides(self.ty) {
            return self.ty;
        }
        let smaller = match self.ty {
            GgmlType::Q2_K | GgmlType::Q3_K => GgmlType::Q4_0,
            GgmlType::Q4_K => GgmlType::Q5_0,
            GgmlType::Q5_K => GgmlType::Q5_1,
            GgmlType::Q6_K => GgmlType::Q8_0,
            ty => ty,
        };
        if divides(smaller) { smaller } else { GgmlType::F16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case() {
        for target in TARGETS {
            assert_eq!(Target::named(&target.ty.name().to_lowercase()), Some(target));
        }
        // A type that a file can hold, and one that it cannot: neither has an encoder here.
        assert_eq!((Target::named("IQ4_XS"), Target::named("Q8_K")), (None, None));
    }

    #[test]
    fn rows_that_are_no_whole_blocks_get_another_type() {
        use GgmlType::{BF16, F16, F32, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0};
        for (name, of_768, of_288, of_33) in [
            ("F32", F32, F32, F32),
            ("F16", F16, F16, F16),
            ("BF16", BF16, BF16, BF16),
            ("Q4_0", Q4_0, Q4_0, F16),
            ("Q4_1", Q4_1, Q4_1, F16),
            ("Q5_0", Q5_0, Q5_0, F16),
            ("Q5_1", Q5_1, Q5_1, F16),
            ("Q8_0", Q8_0, Q8_0, F16),
            ("Q2_K", Q2_K, Q4_0, F16),
            ("Q3_K", Q3_K, Q4_0, F16),
            ("Q4_K", Q4_K, Q5_0, F16),
            ("Q5_K", Q5_K, Q5_1, F16),
            ("Q6_K", Q6_K, Q8_0, F16),
        ] {
            let target = Target::named(name).expect("a target");
            assert_eq!([768, 288, 33].map(|k| target.for_rows_of(k)), [of_768, of_288, of_33], "{name}");
        }
    }
}
