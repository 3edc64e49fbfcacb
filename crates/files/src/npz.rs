//! NumPy's `.npz` files: a zip archive of `.npy` arrays, each under its name with `.npy` after it.

use crate::npy::{Array, NpyError, Reader};
use std::io::{Read, Seek, Write};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Why bytes are no `.npz` file, or one without what is wanted.
#[derive(Debug, thiserror::Error)]
pub enum NpzError {
    /// It is no zip archive, or a damaged one.
    #[error("not a .npz file: {0}")]
    Zip(ZipError),
    /// An array is missing.
    #[error("there is no array `{0}` in it")]
    Missing(String),
    /// An array is damaged.
    #[error("array `{0}`: {1}")]
    Array(String, NpyError),
    /// An array takes more bytes than it may.
    #[error("array `{0}` is larger than it can be")]
    TooLarge(String),
}

/// Writes arrays, uncompressed as `numpy.savez` does.
pub fn write<W: Write + Seek>(to: W, arrays: &[(&str, Array)]) -> std::io::Result<W> {
    let mut zip = ZipWriter::new(to);
    for (name, array) in arrays {
        let header = array.header.to_bytes();
        let large = (header.len() + array.data.len()) as u64 >= u64::from(u32::MAX);
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&header)?;
        zip.write_all(&array.data)?;
    }
    Ok(zip.finish()?)
}

/// An archive open for reading.
pub struct Archive<R> {
    zip: ZipArchive<R>,
}

impl<R: Read + Seek> Archive<R> {
    /// Opens an archive.
    pub fn new(from: R) -> Result<Archive<R>, NpzError> {
        Ok(Archive { zip: ZipArchive::new(from).map_err(NpzError::Zip)? })
    }

    /// Reads an array, put into C order, whose data takes at most `limit` bytes: archives may be compressed, so that what is in
    /// one can be much larger than the file.
    pub fn array(&mut self, name: &str, limit: u64) -> Result<Array, NpzError> {
        let damaged = |error| NpzError::Array(name.to_owned(), error);
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(|error| match error {
            ZipError::FileNotFound => NpzError::Missing(name.to_owned()),
            other => NpzError::Zip(other),
        })?;
        let length = entry.size();
        let reader = Reader::new(entry, length).map_err(damaged)?;
        if reader.left() > limit {
            return Err(NpzError::TooLarge(name.to_owned()));
        }
        reader.rest().map(Array::into_c_order).map_err(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::DType;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn sample() -> Vec<u8> {
        let arrays = [
            ("codes", Array::new(DType::new('u', 1), vec![2, 3], vec![1, 2, 3, 4, 5, 6])),
            ("format", Array::new(DType::new('U', 1), vec![], vec![b'x', 0, 0, 0])),
        ];
        write(Cursor::new(Vec::new()), &arrays).unwrap().into_inner()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut archive = Archive::new(Cursor::new(sample())).unwrap();
        assert_eq!(archive.array("codes", 6).unwrap().data, [1, 2, 3, 4, 5, 6]);
        assert!(matches!(archive.array("codes", 5), Err(NpzError::TooLarge(_))));
        assert!(matches!(archive.array("scales", 5), Err(NpzError::Missing(_))));
    }

    proptest! {
        #[test]
        fn damaged_archives_are_an_error_or_arrays(at in 0usize..1000, to in any::<u8>(), cut in 0usize..40) {
            let mut bytes = sample();
            let at = at % bytes.len();
            bytes[at] = to;
            bytes.truncate(bytes.len() - cut);
            if let Ok(mut archive) = Archive::new(Cursor::new(bytes)) {
                let _ = archive.array("codes", 1 << 20);
            }
        }
    }
}
