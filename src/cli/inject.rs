mod stream;

use self::stream::Preview;

use crate::cli::prelude::*;

/// Print objects as they would be stored after injection
///
/// Pods are treated as created by --user. They get nothing unless the policy lists that user or one
/// of its groups as a paired controller. DaemonSets get the control-plane tolerations if they, or
/// their Namespace in the same input, have the label setguard.io/control-plane: "true". Everything
/// else is printed unchanged. Denials and warnings go to standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  printed
  1  at least one object would be denied
  2  wrong usage, an invalid policy, or input that cannot be read

Examples:
  setguard inject pod.yaml
  kubectl get pod agent-x7k2p -o yaml > pod.yaml
  setguard inject pod.yaml --user system:serviceaccount:ops:agents")]
pub(super) struct InjectArgs {
    /// Files and folders; `-` is standard input
    #[arg(value_name = "PATH|-", required = true)]
    paths: Vec<PathBuf>,
    /// The user who creates the pods; by default the first paired controller of the policy
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Uses no policy file, except the one in --policy. Otherwise the policy file of the repository counts, as for
    /// `setguard check`
    #[arg(long)]
    no_config: bool,
}

pub(super) fn run(args: &InjectArgs) -> anyhow::Result<Exit> {
    let Some(policy) = report::policy::load_found(&args.policy, args.no_config)? else {
        return Ok(Exit::Error);
    };
    let first = policy.injection.paired_controllers.users.first();
    let user = args.user.as_ref().or(first).map(String::as_str).unwrap_or_default();
    let mut exit = Exit::Clean;
    let mut notes = Printable::new(anstream::stderr().lock()).guarded();
    let mut out = io::stdout().lock();
    let mut namespaces = Namespaces::default();
    let sources = listing::scan_then_read(&args.paths, &mut |text| namespaces.add(text));
    let context = Context::of_command(&policy, Origin::Manifest, Timestamp::now());
    let preview = Preview { user: User::authenticated(user), namespaces: &namespaces, context };
    for (i, source) in sources.enumerate() {
        let source = match source {
            Ok(source) => source,
            Err(error) => {
                writeln!(notes, "error: {error}")?;
                exit = exit.and(Exit::Error);
                continue;
            }
        };
        if i > 0 {
            out.write_all(b"---\n")?;
        }
        let outcome = preview.print(source.text(), &mut out, &mut notes)?;
        for problem in &outcome.problems {
            let (name, mark) = (source.name(), problem.mark);
            writeln!(notes, "error: {name}:{}:{}: {}", mark.line, mark.column, problem.message)?;
            exit = exit.and(Exit::Error);
        }
        if outcome.denied > 0 {
            exit = exit.and(Exit::Denied);
        }
    }
    Ok(exit)
}
