use crate::prelude::*;

pub struct Cluster {
    command: &'static str,
    pub api_server: ApiServer,
    pub folder: Folder,
    pub kubeconfig: PathBuf,
}

impl Cluster {
    pub fn of(command: &'static str, minor: &'static str) -> Self {
        let api_server = ApiServer::start(minor);
        let folder = Folder::quiet([]);
        let kubeconfig = api_server.kubeconfig(folder.0.path());
        Cluster { command, api_server, folder, kubeconfig }
    }

    pub fn has(&self, resource: &str, object: &Value) -> &Self {
        self.api_server.apply(resource, object);
        self
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.folder.command(env!("CARGO_BIN_EXE_setguard"));
        command.arg(self.command).args(args).env("KUBECONFIG", &self.kubeconfig);
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }
}
