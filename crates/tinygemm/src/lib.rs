//! tinygemm
