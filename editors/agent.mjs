// A manifest with one fault, which the tests of the editors share.

export const RULE = "on-delete-ignores-rolling-update";
export const AGENT = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: ops}
spec:
  updateStrategy:
    type: OnDelete
    rollingUpdate:
      maxUnavailable: 2
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations:
      - {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
      terminationGracePeriodSeconds: 30
      containers:
      - name: main
        image: example.com/main:1.0.0
        resources: {requests: {cpu: 1, memory: 64Mi}, limits: {memory: 64Mi}}
        readinessProbe: {httpGet: {port: 80, path: /ready}}
`;
