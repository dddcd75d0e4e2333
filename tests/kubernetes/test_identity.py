#!/usr/bin/env python3
"""Who asks a real API server, and what they may: certificates, plugins, a pod's account, tokens that change, rights that are missing.

Usage: test_identity.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import json
import os
import shutil
import unittest

from running_kubernetes import RunningKubernetes


class Identity(RunningKubernetes):
    MACHINES = {"count": 1, "gpus": 8}

    def kubeconfig(self, user, name="kubeconfig", **cluster):
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["clusters"][0]["cluster"].update(cluster)
        config["users"] = [{"name": "u", "user": user}]
        config["contexts"] = [{"name": "c", "context": {"cluster": "test", "user": "u"}}]
        config["current-context"] = "c"
        path = self.scratch / name
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        return path

    def read(self, kubeconfig, *more, codes=(0,), env=None):
        flags = ["--kubeconfig", kubeconfig] if kubeconfig else []
        return self.stint("import", "kubernetes", *flags, "--history", self.history, *more, codes=codes, env=env)

    def token(self, account, *rules):
        """Of a service account with a role of these rules."""
        self.cluster.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": account}})
        self.cluster.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": account}, "rules": list(rules)})
        self.cluster.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": account}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}]})
        return self.cluster.kubectl("create", "token", account).strip()

    def test_a_certificate_is_enough(self):
        self.read(self.cluster.kubeconfig, "--context", "certificate")
        self.assertIn("gpu-0", self.rows("node", "name"))

    def test_files_beside_the_kubeconfig_are_found(self):
        for name in ["ca.crt", "admin.crt", "admin.key"]:
            shutil.copy(self.cluster.pki / name, self.scratch / name)
        config = self.kubeconfig({"client-certificate": "admin.crt", "client-key": "admin.key"})
        text = json.loads(config.read_text())
        del text["clusters"][0]["cluster"]["certificate-authority-data"]
        text["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
        config.write_text(json.dumps(text))
        self.read(config)
        self.assertIn("gpu-0", self.rows("node", "name"))

    def test_a_plugin_is_asked(self):
        plugin = self.scratch / "get-token"
        credential = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": self.cluster.token}}
        plugin.write_text(f"#!/bin/sh\n[ \"$1 $WHO\" = 'fleet me' ] && [ -n \"$KUBERNETES_EXEC_INFO\" ] && echo '{json.dumps(credential)}'\n")
        plugin.chmod(0o700)
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "args": ["fleet"],
                         "env": [{"name": "WHO", "value": "me"}]}}
        self.read(self.kubeconfig(user))
        self.assertIn("gpu-0", self.rows("node", "name"))
        user["exec"]["args"] = ["other"]
        self.assertIn("the credential plugin", self.read(self.kubeconfig(user), codes=(1, 2)))

    def test_a_token_file_is_read_and_what_its_account_may_not_list_is_named(self):
        token = self.token("reader", {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]})
        (self.scratch / "token").write_text(token + "\n")
        (self.scratch / "token").chmod(0o600)
        said = self.read(self.kubeconfig({"tokenFile": "token"}), "--json")
        self.assertIn("gpu-0", self.rows("node", "name"))
        self.assertIn("may not do this", said, "what it may not list is named")
        self.assertIn("resourcequotas", said)

    def test_without_the_right_to_list_pods_nothing_is_stored(self):
        token = self.token("blind", {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]})
        said = self.read(self.kubeconfig({"token": token}), codes=(1, 2))
        self.assertIn("/api/v1/pods", said)
        self.assertIn("give this account a role", said)
        self.assertFalse(self.history.exists())

    def test_a_wrong_token_and_an_unknown_authority_are_told_apart(self):
        self.assertIn("the credentials are not accepted", self.read(self.kubeconfig({"token": "wrong"}), codes=(1, 2)))
        other = self.cluster.pki / "sa.crt"
        config = json.loads(self.kubeconfig({"token": self.cluster.token}).read_text())
        del config["clusters"][0]["cluster"]["certificate-authority-data"]
        config["clusters"][0]["cluster"]["certificate-authority"] = str(other)
        path = self.scratch / "other"
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        self.assertRegex(self.read(path, codes=(1, 2)), "certificate")

    def test_a_kubeconfig_that_others_may_read_is_refused(self):
        config = self.kubeconfig({"token": self.cluster.token})
        config.chmod(0o644)
        self.assertIn("chmod", self.read(config, codes=(1, 2)))

    def test_KUBECONFIG_names_it_too(self):
        self.read(None, env={"KUBECONFIG": str(self.kubeconfig({"token": self.cluster.token}))})
        self.assertIn("gpu-0", self.rows("node", "name"))


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    unittest.main()
