use crate::prelude::*;

pub fn write(folder: &Path) -> [PathBuf; 2] {
    let paths = ["server.crt", "server.key"].map(|name| folder.join(name));
    let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    fs::write(&paths[0], pair.cert.pem()).expect("a file");
    fs::write(&paths[1], pair.signing_key.serialize_pem()).expect("a file");
    paths
}
