#!/usr/bin/env python3
"""Writes a dump of a cluster, as `kubectl get sts,pods,pvc,controllerrevisions -A -o json` prints it, and a change of all its sets.

    benches/data/dump.py FOLDER [SETS [PODS]]     # by default 250 StatefulSets of 20 pods, each with a claim
    time setguard plan FOLDER/new.json --against FOLDER/now.json
"""

import json
import sys
from pathlib import Path


def spec(name, image, pods):
    variables = [{"name": f"V{i}", "value": "x" * 20} for i in range(10)]
    container = {"name": "main", "image": image, "env": variables, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    return {
        "replicas": pods, "serviceName": name, "podManagementPolicy": "OrderedReady",
        "selector": {"matchLabels": {"app": name}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        "volumeClaimTemplates": [claim],
    }


def owned(name, namespace, set_name, labels):
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": set_name, "uid": f"uid-of-{set_name}", "controller": True}
    return {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", "labels": labels, "ownerReferences": [owner]}


def objects(number, pods):
    """A set with its revision, pods and claims."""
    name, namespace = f"db{number}", f"ns{number % 10}"
    old = spec(name, "registry.example.com/db:1", pods)
    template, revision = old["template"], f"{name}-1"
    status = {"replicas": pods, "readyReplicas": pods, "availableReplicas": pods, "currentRevision": revision,
              "updateRevision": revision, "currentReplicas": pods, "updatedReplicas": pods}
    yield {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": old, "status": status,
           "metadata": {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"}}
    yield {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1,
           "metadata": owned(revision, namespace, name, {"app": name}),
           "data": {"spec": {"template": {"$patch": "replace", **template}}}}
    for ordinal in range(pods):
        pod, claim = f"{name}-{ordinal}", f"data-{name}-{ordinal}"
        labels = {"app": name, "controller-revision-hash": revision, "apps.kubernetes.io/pod-index": str(ordinal)}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        metadata = dict(owned(pod, namespace, name, labels), creationTimestamp="2026-01-01T00:00:00Z")
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
               "spec": dict(template["spec"], nodeName=f"node-{ordinal}", volumes=[volume]),
               "status": {"phase": "Running", "conditions": [ready]}}
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Bound"},
               "metadata": {"name": claim, "namespace": namespace, "uid": f"uid-of-{claim}"},
               "spec": dict(old["volumeClaimTemplates"][0]["spec"], volumeName=f"pv-{claim}")}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    sets, pods = (int(number) for number in (sys.argv[2:4] + ["250", "20"][len(sys.argv) - 2:]))
    folder.mkdir(parents=True, exist_ok=True)
    now = [it for number in range(sets) for it in objects(number, pods)]
    new = [{"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": f"db{number}", "namespace": f"ns{number % 10}"},
            "spec": spec(f"db{number}", "registry.example.com/db:2", pods)} for number in range(sets)]
    for name, items in (("now.json", now), ("new.json", new)):
        (folder / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


if __name__ == "__main__":
    main()
