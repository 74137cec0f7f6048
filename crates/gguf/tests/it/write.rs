//! What the writer refuses, and that nothing half-written is left.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use keepq_gguf::write::{WriteError, Writer};
use keepq_gguf::{GgmlType, Gguf, Source};

#[test]
fn what_no_reader_would_accept_is_refused() {
    let mut writer = Writer::new();
    writer.put("k", 1_u32).unwrap();
    writer.tensor("t", GgmlType::F32, &[2], &[0; 8]).unwrap();
    let data = [0; 34];
    let errors: Vec<WriteError> = vec![
        writer.put("", 1_u32).unwrap_err(),
        writer.put("a\0b", 1_u32).unwrap_err(),
        writer.put(&"k".repeat(65536), 1_u32).unwrap_err(),
        writer.put("k", "again").unwrap_err(),
        writer.put("general.alignment", 3_u32).unwrap_err(),
        writer.put("general.alignment", 32_u64).unwrap_err(),
        writer.put("general.alignment", "32").unwrap_err(),
        writer.tensor("", GgmlType::Q8_0, &[32], &data).unwrap_err(),
        writer.tensor(&"n".repeat(64), GgmlType::Q8_0, &[32], &data).unwrap_err(),
        writer.tensor("t", GgmlType::Q8_0, &[32], &data).unwrap_err(),
        writer.tensor("u", GgmlType::Q8_0, &[], &data).unwrap_err(),
        writer.tensor("u", GgmlType::Q8_0, &[32, 1, 1, 1, 1], &data).unwrap_err(),
        writer.tensor("u", GgmlType::Q8_0, &[32, 0], &data).unwrap_err(),
        writer.tensor("u", GgmlType::Q8_0, &[33], &data).unwrap_err(),
        writer.tensor("u", GgmlType::Q8_0, &[32, 2], &data).unwrap_err(),
        writer.tensor("u", GgmlType::F64, &[1 << 62], &data).unwrap_err(),
    ];
    let lines: Vec<String> = errors.iter().map(WriteError::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));

    // None of it has left a trace.
    let mut file = Vec::new();
    writer.write_to(&mut file).unwrap();
    let gguf = Gguf::parse(&file).unwrap();
    assert_eq!((gguf.metadata().len(), gguf.tensors().len(), gguf.alignment()), (1, 1, 32));
}

#[test]
fn streams_must_give_the_bytes_of_the_shape() {
    let written = |pieces: &'static [usize]| {
        let mut writer = Writer::new();
        writer
            .tensor_with("t", GgmlType::F32, &[4], |out| {
                pieces.iter().try_for_each(|&len| out.write_all(&vec![1; len]))
            })
            .unwrap();
        let mut file = Vec::new();
        writer.write_to(&mut file).map(|_| file)
    };
    assert!(written(&[1, 7, 8]).unwrap().ends_with(&[[1; 16], [0; 16]].concat()));
    assert_eq!(written(&[8]).unwrap_err().to_string(), "tensor \"t\": expected 16 bytes of data, got 8");
    assert_eq!(written(&[8, 9, 100]).unwrap_err().to_string(), "tensor \"t\": expected 16 bytes of data, got 17");
}

/// A writer with one tensor whose stream fails half way.
fn failing() -> Writer<'static> {
    let mut writer = Writer::new();
    writer
        .tensor_with("t", GgmlType::F32, &[4], |out| {
            out.write_all(&[0; 8])?;
            Err(io::Error::other("no more weights"))
        })
        .unwrap();
    writer
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_is_replaced_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");

    let error = failing().write_file(&path).unwrap_err();
    assert_eq!(error.to_string(), "tensor \"t\": no more weights");
    assert!(names(folder.path()).is_empty());

    let mut writer = Writer::new();
    writer.put("general.name", "old").unwrap();
    let len = writer.write_file(&path).unwrap();
    assert_eq!(names(folder.path()), ["model.gguf"]);
    assert_eq!(fs::metadata(&path).unwrap().len(), len);

    failing().write_file(&path).unwrap_err();
    let source = Source::map(&path).unwrap();
    let old = source.parse().unwrap();
    assert_eq!(old.require::<&str>("general.name"), Ok("old"));
    assert_eq!(names(folder.path()), ["model.gguf"]);

    // In the place of the file that is mapped, from its own values.
    let mut writer = Writer::new();
    writer.put("general.name", "new").unwrap();
    writer.put("general.parent", old.value("general.name").unwrap()).unwrap();
    writer.write_file(&path).unwrap();
    assert_eq!(old.require::<&str>("general.name"), Ok("old"));
    let source = Source::map(&path).unwrap();
    assert_eq!(source.parse().unwrap().require::<&str>("general.parent"), Ok("old"));
}

#[test]
fn a_panic_in_a_stream_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let panicked = std::thread::spawn(move || {
        let mut writer = Writer::new();
        writer.tensor_with("t", GgmlType::F32, &[4], |_| panic!("in the stream, on purpose")).unwrap();
        writer.write_file(&path)
    })
    .join();
    assert!(panicked.is_err());
    assert!(names(folder.path()).is_empty());
}

#[test]
fn paths_that_cannot_be_written_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let to = |path: &Path| Writer::new().write_file(path).unwrap_err().to_string();
    let directory = to(folder.path());
    assert_eq!(directory, format!("{}: not a regular file", folder.path().display()));
    let missing = folder.path().join("missing").join("model.gguf");
    assert!(to(&missing).starts_with(&missing.display().to_string()));
    assert!(names(folder.path()).is_empty());
}

#[test]
fn an_output_that_fails_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let full = |writer: Writer<'_>| match writer.write_to(Full) {
        Err(WriteError::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    };
    full(Writer::new());

    // More than is gathered before it is written: the output fails under the tensor's hands.
    let mut writer = Writer::new();
    let stream = |out: &mut dyn Write| out.write_all(&[0; 1 << 22]);
    writer.tensor_with("t", GgmlType::I8, &[1 << 22], stream).unwrap();
    full(writer);
}

#[test]
fn empty_arrays_keep_their_type() {
    let mut writer = Writer::new();
    writer.put("strings", Vec::<String>::new()).unwrap();
    writer.put("floats", [0.0_f64; 0]).unwrap();
    let mut file = Vec::new();
    writer.write_to(&mut file).unwrap();
    let gguf = Gguf::parse(&file).unwrap();
    let array = |key| gguf.require::<keepq_gguf::Array<'_>>(key).unwrap();
    assert!(array("strings").is_empty());
    assert_eq!(array("strings").element_type(), keepq_gguf::ValueType::String);
    assert_eq!(array("floats").element_type(), keepq_gguf::ValueType::F64);
}
