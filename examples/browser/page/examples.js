// Manifests to begin with.

const set = (kind, namespace, name, spec, pod) => `apiVersion: apps/v1
kind: ${kind}
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
${spec}  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
${pod}`;

const container = (name, image, port) => `      containers:
        - name: ${name}
          image: registry.example/${image}
          readinessProbe:
            tcpSocket:
              port: ${port}
`;

const claims = `          volumeMounts:
            - name: data
              mountPath: /var/lib/postgresql
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 20Gi
`;

const strategy = (field) => `  updateStrategy:\n    type: RollingUpdate\n    rollingUpdate:\n      ${field}\n`;

const database = (replicas, version, spec = "") =>
  set(
    "StatefulSet",
    "shop",
    "db",
    `  serviceName: db\n  replicas: ${replicas}\n  minReadySeconds: 30\n${spec}`,
    container("postgres", `postgres:${version}`, 5432) + claims,
  );

const OLD_TAINT = `      tolerations:
        - key: node-role.kubernetes.io/master
          effect: NoSchedule
`;

const agent = (version, maxUnavailable, pod = "") =>
  set("DaemonSet", "logging", "agent", strategy(`maxUnavailable: ${maxUnavailable}`), pod + container("agent", `agent:${version}`, 8080));

const nodes = ["a", "b", "c"].map((name) => ({ name: `node-${name}`, labels: "", taints: "" }));

const TOP = "# An example. Change it, or paste your own.\n# Before has the manifests as they were.\n";

export const EXAMPLES = {
  "A database and an agent": {
    before: `${database(3, "17.5")}---\n${agent("2.3", 1, OLD_TAINT)}`,
    manifests: `${TOP}${database(4, "17.6", strategy("partition: 1"))}---\n${agent("2.4", 1, OLD_TAINT)}`,
    nodes,
  },
  "A rollout that reaches no pod": {
    before: database(3, "17.5"),
    manifests: database(3, "17.6", strategy("partition: 3")),
  },
  "A scale-down that deletes data": {
    before: database(5, "17.5", "  persistentVolumeClaimRetentionPolicy:\n    whenScaled: Delete\n"),
    manifests: database(3, "17.5", "  persistentVolumeClaimRetentionPolicy:\n    whenScaled: Delete\n"),
  },
  "A selector with a typo": {
    manifests: database(3, "17.6").replace("matchLabels:\n      app: db", "matchLabels:\n      app: bd"),
  },
  "A field with a typo": {
    manifests: database(3, "17.6").replace("replicas", "replica"),
  },
  "All agents at once": {
    before: agent("2.3", 1),
    manifests: agent("2.4", "100%"),
    nodes,
  },
};
