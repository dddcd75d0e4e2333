#!/usr/bin/env python3
"""Checkpoints of `stint run` in object stores (moto and Azurite, signatures checked; fake-gcs-server): lost machines, cut uploads, two writers, damage, wrong settings.

Usage: test_checkpoints.py STINT_BINARY SOURCE_DIR [unittest arguments]. Exit 77 (skipped) without what scripts/setup-cloud-peers fetches.
Only processes started here are signalled.
"""
import pathlib
import shutil
import signal
import sys
import threading
import unittest

import peers
from free_ports import free_port

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))
import test_run  # noqa: E402

SOURCE = None
MIB = 1 << 20


class Stored(test_run.Run):
    make_peer, base = peers.Moto, "s3://bucket/"

    @classmethod
    def setUpClass(cls):
        cls.peer = cls.make_peer(SOURCE)

    @classmethod
    def tearDownClass(cls):
        cls.peer.stop()

    def setUp(self):
        super().setUp()
        self.to = self.base + self._testMethodName
        self.env = {**self.peer.env, "HOME": str(self.dir)}
        self.go = self.dir / "go"  # what the commands of save() wait for

    def start(self, *args, command, env=None):
        return super().start("--sync-to", self.to, *args, command=command, env={**self.env, **(env or {})})

    def run_to_end(self, *args, command, code=0, env=None):
        process = self.start(*args, command=command, env=env)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, err)
        return out, err

    def wait_for(self, condition, seconds=120):
        super().wait_for(condition, seconds)

    def another_machine(self):
        """From here on: nothing of the last one is there."""
        shutil.rmtree(self.checkpoints)
        self.events_file = self.dir / f"events-{len(self.running)}.jsonl"

    def through(self, act):
        proxy = peers.Through(self.peer.port, act, self.peer.verify)
        self.addCleanup(proxy.stop)
        self.env["AWS_ENDPOINT_URL_S3"] = proxy.url
        return proxy

    def save(self, name, size, wait=False):
        """A command that saves so many bytes of its own kind, and then waits for self.go."""
        file = f"{self.checkpoints}/{name}"
        waits = f"while [ ! -e {self.go} ]; do sleep 0.02; done" if wait else ":"
        return ["sh", "-c", f"yes {name} | head -c {size} >{file}.tmp && mv {file}.tmp {file} && "
                            f"(cd {self.checkpoints} && sha256sum {name} >{name}.sha256.tmp && mv {name}.sha256.tmp {name}.sha256) && {waits}"]

    def bytes_of(self, name, size):
        line = (name + "\n").encode()
        return (line * (size // len(line) + 1))[:size]

    def keys(self, below=""):
        prefix = f"{self._testMethodName}/{below}"
        listed = self.peer.s3.list_objects_v2(Bucket="bucket", Prefix=prefix)
        return [o["Key"] for o in listed.get("Contents", [])]

    def key_of(self, name):
        return next(key for key in self.keys("data/") if key.endswith("/" + name))

    def where_from(self):
        return pathlib.Path(self.events("start")[-1]["from"]).name


class Checkpoints(Stored):
    def test_a_notice_is_passed_on_and_another_machine_goes_on(self):
        process = self.start("--notice", "60s", command=self.train())
        self.wait_for(lambda: len(test_run.lines(self.log)) >= 70)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        reached = test_run.lines(self.log)[-1]
        self.assertLess(reached, 400)
        self.another_machine()
        out, _ = self.run_to_end(command=self.train())
        self.assertEqual(self.where_from(), f"step-{reached}", "what was saved last had been copied")
        self.assertEqual(out, self.uninterrupted())
        self.assertEqual(test_run.lines(self.log), list(range(1, 401)), "no step is done twice")
        self.assertEqual(len(self.events("fetched")), 1)

    def test_of_two_writers_the_later_goes_on_and_the_other_is_told(self):
        first = self.start(command=self.train(steps=1_000_000))
        self.wait_for(lambda: self.events("copied"))
        first_events, first_log = self.events_file, self.log
        self.checkpoints, self.log = self.dir / "ck2", self.dir / "steps2.log"
        self.events_file = self.dir / "events2.jsonl"
        second = self.start(command=self.train(steps=1_000_000))
        self.wait_for(lambda: self.events("fetched") and self.events("copied"))
        self.assertEqual(self.events("copies_lost"), [])
        self.events_file, second_events = first_events, self.events_file
        self.wait_for(lambda: self.events("copies_lost"))
        lost, = self.events("copies_lost")
        self.assertIn("ALERT", lost["text"])
        self.assertIn("another stint run (on ", lost["text"])
        copies = len(self.events("copied"))
        reached = len(test_run.lines(first_log))
        self.wait_for(lambda: len(test_run.lines(first_log)) > reached + 100)  # its command goes on
        self.assertIsNone(first.poll())
        for process in (first, second):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)
        self.assertEqual(len(self.events("copied")), copies, "it copies no more")
        self.assertEqual(len(self.events("copies_lost")), 1, "told once")
        self.events_file = second_events
        newest = self.events("copied")[-1]["checkpoint"]
        self.another_machine()
        self.run_to_end(command=["true"])
        self.assertEqual(self.where_from(), newest, "the winner's is gone on from")

    def killed_while_it_uploads(self):
        """A machine that has copied `a` whole and is killed when the first of two parts of `b` was taken. @return the proxy's held requests."""
        self.run_to_end(command=self.save("a", 3000))
        held, goes_on = [], threading.Event()
        self.addCleanup(goes_on.set)

        def act(method, path, number):
            if method != "PUT" or "partNumber=2" not in path:
                return None
            held.append(path)
            goes_on.wait(60)
            return "cut"
        proxy = self.through(act)
        process = self.start(command=self.save("b", 24 * MIB, wait=True))
        # The first part is on its own connection: it is there when the store lists it.
        self.wait_for(lambda: held and self.parts_there() == [1])
        process.kill()
        process.communicate(timeout=60)
        goes_on.set()
        proxy.stop()
        self.go.touch()

    def parts_there(self):
        uploads = self.peer.s3.list_multipart_uploads(Bucket="bucket", Prefix=self._testMethodName).get("Uploads", [])
        return [part["PartNumber"] for upload in uploads
                for part in self.peer.s3.list_parts(Bucket="bucket", Key=upload["Key"], UploadId=upload["UploadId"]).get("Parts", [])]

    def test_killed_during_an_upload_another_machine_takes_the_one_before(self):
        self.killed_while_it_uploads()
        self.another_machine()
        self.env = {**self.peer.env, "HOME": str(self.dir)}
        _, err = self.run_to_end(command=["true"])
        self.assertEqual(self.where_from(), "a")
        self.assertEqual((self.checkpoints / "a").read_bytes(), self.bytes_of("a", 3000))
        passed, = self.events("passed_over")
        self.assertEqual(passed["checkpoint"], "b")
        self.assertIn("did not come to its end", err)

    def test_killed_during_an_upload_the_same_machine_sends_the_rest(self):
        self.killed_while_it_uploads()
        def act(method, path, number):
            if number == 1:
                threading.Event().wait(0.5)  # time for a second worker to ask beside the first, which must not be
        proxy = self.through(act)
        self.run_to_end(command=["true"])
        self.assertEqual(self.events("copies_lost"), [])
        sent = [path for method, path in proxy.requests if method == "PUT" and "partNumber" in path]
        self.assertEqual(len(sent), 1, sent)
        self.assertIn("partNumber=2", sent[0])
        self.another_machine()
        self.run_to_end(command=["true"])
        self.assertEqual(self.where_from(), "b")
        self.assertEqual((self.checkpoints / "b").read_bytes(), self.bytes_of("b", 24 * MIB))
        self.assertEqual(self.events("passed_over"), [])

    def test_a_damaged_copy_is_passed_over(self):
        self.run_to_end(command=self.save("a", 3000))
        self.run_to_end(command=self.save("b", 3000))
        self.peer.s3.put_object(Bucket="bucket", Key=self.key_of("b"), Body=b"x" * 3000)
        self.another_machine()
        _, err = self.run_to_end(command=["true"])
        self.assertEqual(self.where_from(), "a")
        self.assertEqual([e["checkpoint"] for e in self.events("passed_over")], ["b"])
        self.assertIn("its bytes are not those that were saved", err)

    def test_old_copies_are_taken_away(self):
        for name in "abcd":
            self.run_to_end("--sync-keep", "2", command=self.save(name, 3000))
        names = {key.rsplit("/", 1)[1] for key in self.keys("data/")}
        self.assertEqual(names, {"c", "c.sha256", "d", "d.sha256"})
        self.another_machine()
        self.run_to_end(command=["true"])
        self.assertEqual(self.where_from(), "d")

    def test_a_bucket_that_was_emptied_gets_the_newest_again(self):
        self.run_to_end(command=self.save("a", 3000))
        for key in self.keys():
            self.peer.s3.delete_object(Bucket="bucket", Key=key)
        self.run_to_end(command=["true"])
        self.assertTrue(self.key_of("a"))
        self.another_machine()
        self.run_to_end(command=["true"])
        self.assertEqual(self.where_from(), "a")

    def test_a_key_of_the_key_service_encrypts_all(self):
        key = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
        self.run_to_end("--sync-kms-key", key, command=self.save("a", 20 * MIB))
        for object_key in (self.key_of("a"), self.key_of("a.sha256"), self.keys("log/")[-1]):
            head = self.peer.s3.head_object(Bucket="bucket", Key=object_key)
            self.assertEqual((head["ServerSideEncryption"], head["SSEKMSKeyId"]), ("aws:kms", key), object_key)
        self.another_machine()
        self.run_to_end(command=["true"])
        self.assertEqual(self.where_from(), "a")


class Trouble(Stored):
    def fails(self, text, *more, args=(), env=None):
        """Told before the command has started."""
        process = self.start(*args, command=["touch", self.dir / "ran"], env=env)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, err)
        for part in (text, *more):
            self.assertIn(part, err)
        self.assertNotIn(self.peer.SECRET, err)
        self.assertFalse((self.dir / "ran").exists())

    def test_wrong_keys(self):
        self.fails("the credentials are not accepted (SignatureDoesNotMatch", "the keys come from the environment: check them",
                   env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        self.fails("the credentials are not accepted (InvalidAccessKeyId", env={"AWS_ACCESS_KEY_ID": "AKIANONE"})
        self.fails("no AWS credentials", env={"AWS_ACCESS_KEY_ID": ""})

    def test_a_bucket_that_is_not_there(self):
        self.to = "s3://no-such-bucket/job"
        self.fails("NoSuchBucket", "make the bucket first (`aws s3 mb s3://no-such-bucket/`), or correct --sync-to")

    def test_another_region(self):
        # What S3 answers where it does not say which region would be right.
        wrong = b"<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is wrong</Message></Error>"
        self.through(lambda *_: (400, [], wrong))
        self.fails("it is in another region", "set AWS_REGION to the bucket's region")

    def test_no_right_to_write(self):
        denied = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.through(lambda method, *_: (403, [], denied) if method == "PUT" else None)
        self.fails("may not do this (AccessDenied", "allow them s3:GetObject, s3:PutObject, s3:ListBucket")

    def test_what_is_no_store_is_refused(self):
        for to, text in (("gs://B/job", "no name of a bucket"), ("az://account/b", "no name of a container"), ("az://A/box/job", "no storage account"),
                         ("s3://B/job", "no name of a bucket"), ("http://host/x", "give a folder, s3://bucket/prefix, gs://")):
            self.to = to
            process = self.start(command=["true"])
            _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0, to)
            self.assertIn(text, err)
        self.to = str(self.dir / "copies")
        process = self.start("--sync-kms-key", "k", command=["true"])
        self.assertIn("--sync-kms-key is for copies in an object store", process.communicate(timeout=60)[1])

    def test_a_store_that_cannot_be_reached_does_not_hold_the_job_up(self):
        self.env["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{free_port()}"
        out, err = self.run_to_end(command=self.train(steps=100))
        self.assertEqual(out, self.uninterrupted(**{"--steps": 100}))
        self.assertIn("goes on WITHOUT knowing what is there", err)
        self.assertTrue(self.events("copy_failed"))

    def test_an_outage_passes(self):
        down = threading.Event()
        self.through(lambda *_: "cut" if down.is_set() else None)
        process = self.start(command=self.train(steps=1_000_000))
        self.wait_for(lambda: self.events("copied"))
        down.set()
        self.wait_for(lambda: self.events("copy_failed"))
        copies, reached = len(self.events("copied")), len(test_run.lines(self.log))
        self.wait_for(lambda: len(test_run.lines(self.log)) > reached + 50)  # the job goes on
        down.clear()
        self.wait_for(lambda: len(self.events("copied")) > copies)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0)

    def test_one_that_began_without_the_store_does_not_hide_what_is_there(self):
        self.run_to_end(command=self.save("far-on", 3000))
        newest = self.keys("log/")[-1]
        self.another_machine()
        down = threading.Event()
        down.set()
        self.through(lambda *_: "cut" if down.is_set() else None)
        process = self.start(command=self.save("from-the-beginning", 3000, wait=True))
        self.wait_for(lambda: self.events("start"))
        self.assertEqual(self.events("start")[0]["from"], "")
        down.clear()
        self.wait_for(lambda: self.events("copies_lost"))
        self.assertIn("does not go on from", self.events("copies_lost")[0]["text"])
        self.go.touch()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.keys("log/")[-1], newest)

    def test_a_notice_that_is_too_short_is_told(self):
        # Each file takes 0.3 s at least: no save fits 0.2 s.
        def act(method, path, number):
            if method == "PUT" and "/data/" in path:
                threading.Event().wait(0.3)
            return None
        self.through(act)
        process = self.start("--notice", "200ms", command=self.save("a", 3000, wait=True))
        self.wait_for(lambda: self.events("notice_fit"))
        told, = self.events("notice_fit")
        self.assertEqual(told["fit"], "too_short")
        self.assertIn("does NOT fit the notice of 0.2 s", told["text"])
        self.assertIn("what would: a notice of", told["text"])
        self.go.touch()
        process.communicate(timeout=60)

    def test_a_notice_that_is_long_enough_is_told_and_ends_the_bound(self):
        # 2 MiB at 1 KiB a second would take over half an hour.
        self.run_to_end("--notice", "1h", command=self.save("a", 3000))
        self.assertEqual([e["fit"] for e in self.events("notice_fit")], ["fits"])
        process = self.start("--notice", "1000s", "--sync-rate", "0.001", command=self.save("b", 2 * MIB, wait=True))
        self.wait_for(lambda: any(e["checkpoint"] == "b" for e in self.events("checkpoint")))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)
        self.assertEqual(self.events("copied")[-1]["checkpoint"], "b", err)


class Google(Stored):
    make_peer, base = peers.FakeGcs, "gs://bucket/"
    fails = Trouble.fails
    test_a_notice_is_passed_on_and_another_machine_goes_on = Checkpoints.test_a_notice_is_passed_on_and_another_machine_goes_on
    test_of_two_writers_the_later_goes_on_and_the_other_is_told = Checkpoints.test_of_two_writers_the_later_goes_on_and_the_other_is_told

    def test_a_bucket_that_is_not_there(self):
        self.to = "gs://no-such-bucket/job"
        self.fails("there is no such thing", "make the bucket first (`gcloud storage buckets create gs://no-such-bucket/`)")

    def test_no_credentials(self):
        self.fails("no Google credentials: looked at GOOGLE_APPLICATION_CREDENTIALS", env={"STORAGE_EMULATOR_HOST": ""})


class Azure(Stored):
    make_peer, base = peers.Azurite, f"az://{peers.ACCOUNT}/bucket/"
    fails = Trouble.fails
    test_a_notice_is_passed_on_and_another_machine_goes_on = Checkpoints.test_a_notice_is_passed_on_and_another_machine_goes_on
    test_of_two_writers_the_later_goes_on_and_the_other_is_told = Checkpoints.test_of_two_writers_the_later_goes_on_and_the_other_is_told

    def test_a_container_that_is_not_there(self):
        self.to = f"az://{peers.ACCOUNT}/no-such-container/job"
        self.fails("ContainerNotFound", "make the container first (`az storage container create`)")

    def test_wrong_keys(self):
        self.fails("the credentials are not accepted", "come from AZURE_STORAGE_KEY", env={"AZURE_STORAGE_KEY": "d3Jvbmc="})


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv[2])
    peers.need(SOURCE, {"Google": "gcs", "Azure": "azurite"}.get("".join(sys.argv[3:4]), "moto"))
    peers.run_in_their_python(SOURCE)
    test_run.STINT, test_run.TRAINING = sys.argv[1], SOURCE / "examples/training"
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
