// Manifests to begin with.

const set = (kind, name, spec, image) => `apiVersion: apps/v1
kind: ${kind}
metadata:
  name: ${name}
  namespace: shop
spec:
${spec}  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      containers:
        - name: ${name}
          image: ${image}
          readinessProbe:
            tcpSocket:
              port: 8080
`;

const database = (spec, image) => set("StatefulSet", "db", `  serviceName: db\n  replicas: 5\n${spec}`, image);

export const EXAMPLES = {
  "A rollout that reaches no pod": {
    before: database("", "registry.example/db:1.4"),
    manifests: database(
      "  updateStrategy:\n    type: RollingUpdate\n    rollingUpdate:\n      partition: 5\n",
      "registry.example/db:1.5",
    ),
  },
  "A database, updated pod by pod": {
    before: database("  minReadySeconds: 30\n", "registry.example/db:1.4"),
    manifests: database("  minReadySeconds: 30\n", "registry.example/db:1.5"),
  },
  "A field with a typo": {
    manifests: database("", "registry.example/db:1.5").replace("replicas", "replica"),
  },
  "A node daemon on three nodes": {
    before: set("DaemonSet", "agent", "  updateStrategy:\n    rollingUpdate:\n      maxUnavailable: 1\n", "registry.example/agent:1"),
    manifests: set("DaemonSet", "agent", "  updateStrategy:\n    rollingUpdate:\n      maxUnavailable: 1\n", "registry.example/agent:2"),
    nodes: ["a", "b", "c"].map((name) => ({ name: `node-${name}`, labels: "", taints: "" })),
  },
};
