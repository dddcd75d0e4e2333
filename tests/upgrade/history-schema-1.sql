-- A History file as schema 1 had it (before changes were recorded), with a small import of each kind: what an upgrade begins with.
PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE import (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  source TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  imported_at INTEGER NOT NULL,
  accepted INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  duplicates INTEGER NOT NULL,
  rollup_days INTEGER NOT NULL,
  telemetry_begin INTEGER,
  telemetry_end INTEGER,
  UNIQUE (kind, fingerprint)
) STRICT;
CREATE TABLE rejection (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  line INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE INDEX rejection_import ON rejection (import_id);
CREATE TABLE node (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  resource_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  region TEXT NOT NULL,
  zone TEXT NOT NULL,
  instance_type TEXT NOT NULL,
  market TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_count INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  rate INTEGER, rate_currency TEXT,
  client TEXT NOT NULL, project TEXT NOT NULL, team TEXT NOT NULL, environment TEXT NOT NULL, workload TEXT NOT NULL,
  kind TEXT NOT NULL,
  checkpointable INTEGER,
  present_from INTEGER,
  present_until INTEGER
) STRICT;
CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  node_id INTEGER NOT NULL REFERENCES node,
  uuid TEXT NOT NULL,
  gpu_index INTEGER NOT NULL,
  model TEXT NOT NULL,
  mig_profile TEXT NOT NULL,
  mig_instance INTEGER NOT NULL,
  UNIQUE (node_id, uuid, gpu_index, mig_instance)
) STRICT;
CREATE TABLE holder (
  id INTEGER PRIMARY KEY,
  ns TEXT NOT NULL, pod TEXT NOT NULL, container TEXT NOT NULL, job TEXT NOT NULL,
  process TEXT NOT NULL, user TEXT NOT NULL, account TEXT NOT NULL,
  UNIQUE (pod, ns, container, job, process, user, account)
) STRICT;
INSERT INTO holder VALUES (0, '', '', '', '', '', '', '');
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES device,
  holder_id INTEGER NOT NULL REFERENCES holder,
  metric INTEGER NOT NULL,
  UNIQUE (device_id, holder_id, metric)
) STRICT;
CREATE TABLE rollup_day (
  key INTEGER PRIMARY KEY,
  series_id INTEGER GENERATED ALWAYS AS (key & 0xffffffff) VIRTUAL,
  day INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  origin TEXT NOT NULL,
  run_id TEXT NOT NULL,
  restart INTEGER NOT NULL,
  name TEXT NOT NULL,
  ns TEXT NOT NULL, pod TEXT NOT NULL, container TEXT NOT NULL, job TEXT NOT NULL,
  process TEXT NOT NULL, user TEXT NOT NULL, account TEXT NOT NULL,
  client TEXT NOT NULL, project TEXT NOT NULL, team TEXT NOT NULL, environment TEXT NOT NULL, workload TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  submitted INTEGER,
  started INTEGER,
  ended INTEGER,
  time_limit INTEGER,
  gpus_requested INTEGER NOT NULL,
  share INTEGER, share_total INTEGER,
  cpus INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  allocations TEXT NOT NULL,
  checkpointable INTEGER,
  UNIQUE (origin, run_id, restart)
) STRICT;
CREATE TABLE bill_line (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  digest BLOB NOT NULL,
  provider TEXT NOT NULL,
  billing_account TEXT NOT NULL,
  sub_account TEXT NOT NULL,
  service TEXT NOT NULL,
  service_category TEXT NOT NULL,
  description TEXT NOT NULL,
  region TEXT NOT NULL,
  zone TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  resource_name TEXT NOT NULL,
  resource_type TEXT NOT NULL,
  instance_type TEXT NOT NULL,
  sku TEXT NOT NULL,
  invoice_id TEXT NOT NULL,
  category TEXT NOT NULL,
  spend TEXT NOT NULL,
  market TEXT NOT NULL,
  commitment_id TEXT NOT NULL,
  commitment_unused INTEGER NOT NULL,
  correction INTEGER NOT NULL,
  charge_begin INTEGER NOT NULL,
  charge_end INTEGER NOT NULL,
  billing_begin INTEGER NOT NULL,
  billing_end INTEGER NOT NULL,
  billed INTEGER NOT NULL, billed_currency TEXT NOT NULL,
  effective INTEGER NOT NULL, effective_currency TEXT NOT NULL,
  list INTEGER, list_currency TEXT,
  contracted INTEGER, contracted_currency TEXT,
  list_unit_price INTEGER, list_unit_price_currency TEXT,
  pricing_unit TEXT NOT NULL,
  quantity TEXT NOT NULL,
  tags TEXT NOT NULL
) STRICT;
CREATE INDEX bill_line_digest ON bill_line (digest);
CREATE TABLE price (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  provider TEXT NOT NULL,
  region TEXT NOT NULL,
  instance_type TEXT NOT NULL,
  market TEXT NOT NULL,
  term TEXT NOT NULL,
  payment TEXT NOT NULL,
  rate INTEGER NOT NULL, rate_currency TEXT NOT NULL,
  estimated INTEGER NOT NULL,
  source TEXT NOT NULL,
  as_of INTEGER NOT NULL,
  UNIQUE (provider, instance_type, region, market, term, payment)
) STRICT;
CREATE TABLE tenant_rule (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  pattern TEXT NOT NULL UNIQUE,
  client TEXT NOT NULL, project TEXT NOT NULL, team TEXT NOT NULL, environment TEXT NOT NULL, workload TEXT NOT NULL
) STRICT;
INSERT INTO meta (key, value) VALUES ('schema_version', '1');
INSERT INTO import (id, kind, source, fingerprint, imported_at, accepted, rejected, duplicates, rollup_days, telemetry_begin, telemetry_end) VALUES (1, 'inventory', 'examples/inventory.csv', '121c9bfb015aab0c2bf382a7e5705ace:node=gpu-node-7', 1795287721385028707, 3, 0, 0, 0, NULL, NULL);
INSERT INTO import (id, kind, source, fingerprint, imported_at, accepted, rejected, duplicates, rollup_days, telemetry_begin, telemetry_end) VALUES (2, 'focus', 'examples/focus.csv', 'f4209ab1a0bae6ab7ceb97280414d413:node=gpu-node-7', 1795287721569412792, 3, 0, 0, 0, NULL, NULL);
INSERT INTO import (id, kind, source, fingerprint, imported_at, accepted, rejected, duplicates, rollup_days, telemetry_begin, telemetry_end) VALUES (3, 'sacct', 'examples/sacct.txt', '6c439b2717462682b6d1defa9d7c0eb8:node=gpu-node-7', 1795287722259963053, 3, 0, 0, 0, NULL, NULL);
INSERT INTO import (id, kind, source, fingerprint, imported_at, accepted, rejected, duplicates, rollup_days, telemetry_begin, telemetry_end) VALUES (4, 'prices', 'examples/prices.csv', 'dac02be419a1b8bd4e484a4e7e3d052c:node=gpu-node-7', 1795287722878346923, 2, 0, 0, 0, NULL, NULL);
INSERT INTO import (id, kind, source, fingerprint, imported_at, accepted, rejected, duplicates, rollup_days, telemetry_begin, telemetry_end) VALUES (5, 'tenants', 'examples/tenants.csv', 'fc9728f12537fff629bbcc61d1a7f49b:node=gpu-node-7', 1795287723361943206, 3, 0, 0, 0, NULL, NULL);
INSERT INTO import (id, kind, source, fingerprint, imported_at, accepted, rejected, duplicates, rollup_days, telemetry_begin, telemetry_end) VALUES (6, 'nvidia-smi', 'examples/nvidia-smi.csv', 'c7998dfe7da7c153d9bf1f633f9dc530:node=gpu-node-7', 1795287723989858530, 71, 0, 0, 6, 1791190800000000000, 1791194400000000000);
INSERT INTO node (id, name, resource_id, provider, region, zone, instance_type, market, gpu_model, gpu_count, vcpus, memory, rate, rate_currency, client, project, team, environment, workload, kind, checkpointable, present_from, present_until) VALUES (1, 'box-1', 'i-0a1b2c3d4e5f60718', 'aws', 'us-east-1', 'us-east-1a', 'g5.xlarge', 'on-demand', 'A10G', 1, 4, 17179869184, 1006000000, 'USD', '', '', 'vision', 'development', 'detector', 'training', 1, NULL, NULL);
INSERT INTO node (id, name, resource_id, provider, region, zone, instance_type, market, gpu_model, gpu_count, vcpus, memory, rate, rate_currency, client, project, team, environment, workload, kind, checkpointable, present_from, present_until) VALUES (2, 'kube-1', '//compute.googleapis.com/projects/demo/zones/us-central1-a/instances/kube-1', 'gcp', 'us-central1', 'us-central1-a', 'a2-highgpu-2g', 'on-demand', 'A100-40GB', 2, 24, 182536110080, 7346770000, 'USD', '', '', '', '', '', 'unknown', NULL, NULL, NULL);
INSERT INTO node (id, name, resource_id, provider, region, zone, instance_type, market, gpu_model, gpu_count, vcpus, memory, rate, rate_currency, client, project, team, environment, workload, kind, checkpointable, present_from, present_until) VALUES (3, 'slurm-1', '', '', '', '', '', 'owned', 'A100-80GB', 4, 64, 549755813888, 3200000000, 'USD', '', '', '', '', '', 'training', 1, 1790812800000000000, 1793491200000000000);
INSERT INTO node (id, name, resource_id, provider, region, zone, instance_type, market, gpu_model, gpu_count, vcpus, memory, rate, rate_currency, client, project, team, environment, workload, kind, checkpointable, present_from, present_until) VALUES (4, 'gpu-node-7', '', '', '', '', '', 'unknown', '', 0, 0, 0, NULL, NULL, '', '', '', '', '', 'unknown', NULL, NULL, NULL);
INSERT INTO device (id, node_id, uuid, gpu_index, model, mig_profile, mig_instance) VALUES (1, 4, 'GPU-5d1f7a90-33c2-4e8b-9a7d-0c64be12f001', 0, 'NVIDIA A10G', '', -1);
INSERT INTO series (id, device_id, holder_id, metric) VALUES (1, 1, 0, 0);
INSERT INTO series (id, device_id, holder_id, metric) VALUES (2, 1, 0, 1);
INSERT INTO series (id, device_id, holder_id, metric) VALUES (3, 1, 0, 2);
INSERT INTO series (id, device_id, holder_id, metric) VALUES (4, 1, 0, 3);
INSERT INTO series (id, device_id, holder_id, metric) VALUES (5, 1, 0, 7);
INSERT INTO series (id, device_id, holder_id, metric) VALUES (6, 1, 0, 9);
INSERT INTO rollup_day (key, data) VALUES (89038967013377, X'0102000200000c04d601a0b5c901aadbdb01d60900ba0109011461019e01614121412141');
INSERT INTO rollup_day (key, data) VALUES (89038967013378, X'0102000200150c00d601a0b5c901aadbdb01acac110284de0102eafb04120ade03');
INSERT INTO rollup_day (key, data) VALUES (89038967013379, X'0102000200150c00d601a0b5c901aadbdb01e0dd21e8e702e8e70201d683051c');
INSERT INTO rollup_day (key, data) VALUES (89038967013380, X'0102000200000c04d601a0b5c901aadbdb01e604005c0801142101502121212221');
INSERT INTO rollup_day (key, data) VALUES (89038967013381, X'0102000200000c00d601a0b5c901aadbdb01e20946840106e2f3041421011b131211');
INSERT INTO rollup_day (key, data) VALUES (89038967013382, X'0102000200330b00d601a0b5c901cab3c901cecccccccc529d407866666666661e71400798f4041461014121121111');
INSERT INTO run (id, import_id, origin, run_id, restart, name, ns, pod, container, job, process, user, account, client, project, team, environment, workload, kind, state, submitted, started, ended, time_limit, gpus_requested, share, share_total, cpus, memory, allocations, checkpointable) VALUES (1, 3, 'sacct', '7001', 0, 'train-ranking', '', '', '', '7001', '', 'mara', 'cc-4410', '', '', '', '', '', 'training', 'completed', 1791189600000000000, 1791189900000000000, 1791198300000000000, 28800000000000, 1, NULL, NULL, 16, 137438953472, '[{"count":1,"gpus":[],"node":"slurm-1"}]', NULL);
INSERT INTO run (id, import_id, origin, run_id, restart, name, ns, pod, container, job, process, user, account, client, project, team, environment, workload, kind, state, submitted, started, ended, time_limit, gpus_requested, share, share_total, cpus, memory, allocations, checkpointable) VALUES (2, 3, 'sacct', '7002', 0, 'layout', '', '', '', '7002', '', 'joon', 'cc-4425', '', '', '', '', '', 'unknown', 'timeout', 1791190200000000000, 1791190800000000000, 1791234000000000000, 43200000000000, 2, NULL, NULL, 32, 274877906944, '[{"count":2,"gpus":[],"node":"slurm-1"}]', NULL);
INSERT INTO run (id, import_id, origin, run_id, restart, name, ns, pod, container, job, process, user, account, client, project, team, environment, workload, kind, state, submitted, started, ended, time_limit, gpus_requested, share, share_total, cpus, memory, allocations, checkpointable) VALUES (3, 3, 'sacct', '7003', 0, 'layout', '', '', '', '7003', '', 'joon', 'cc-4425', '', '', '', '', '', 'unknown', 'cancelled', 1791191400000000000, NULL, 1791191700000000000, 43200000000000, 4, NULL, NULL, 64, 536870912000, '[]', NULL);
INSERT INTO bill_line (id, import_id, digest, provider, billing_account, sub_account, service, service_category, description, region, zone, resource_id, resource_name, resource_type, instance_type, sku, invoice_id, category, spend, market, commitment_id, commitment_unused, correction, charge_begin, charge_end, billing_begin, billing_end, billed, billed_currency, effective, effective_currency, list, list_currency, contracted, contracted_currency, list_unit_price, list_unit_price_currency, pricing_unit, quantity, tags) VALUES (1, 2, X'200a41adf61a69f77adaa4791722c1ce', 'gcp', '', '', 'Compute Engine', 'Compute', 'A2 Instance running in Americas a2-highgpu-2g', 'us-central1', '', '//compute.googleapis.com/projects/demo/zones/us-central1-a/instances/kube-1', 'kube-1', 'Instance', 'a2-highgpu-2g', 'a2-highgpu-2g', '', 'Usage', 'compute', 'on-demand', '', 0, 0, 1791158400000000000, 1791244800000000000, 1790812800000000000, 1793491200000000000, 176322480000, 'USD', 176322480000, 'USD', 176322480000, 'USD', 176322480000, 'USD', 7346770000, 'USD', 'Hours', '24', '[["env","production"]]');
INSERT INTO bill_line (id, import_id, digest, provider, billing_account, sub_account, service, service_category, description, region, zone, resource_id, resource_name, resource_type, instance_type, sku, invoice_id, category, spend, market, commitment_id, commitment_unused, correction, charge_begin, charge_end, billing_begin, billing_end, billed, billed_currency, effective, effective_currency, list, list_currency, contracted, contracted_currency, list_unit_price, list_unit_price_currency, pricing_unit, quantity, tags) VALUES (2, 2, X'9de6e67d6d3240f1d014d890a27d0331', 'gcp', '', '', 'Compute Engine', 'Storage', 'SSD backed PD capacity', 'us-central1', '', '', '', '', '', 'pd-ssd', '', 'Usage', 'storage', 'on-demand', '', 0, 0, 1790812800000000000, 1793491200000000000, 1790812800000000000, 1793491200000000000, 10200000000, 'USD', 10200000000, 'USD', 10200000000, 'USD', 10200000000, 'USD', NULL, NULL, 'GB-Mo', '60', '[]');
INSERT INTO bill_line (id, import_id, digest, provider, billing_account, sub_account, service, service_category, description, region, zone, resource_id, resource_name, resource_type, instance_type, sku, invoice_id, category, spend, market, commitment_id, commitment_unused, correction, charge_begin, charge_end, billing_begin, billing_end, billed, billed_currency, effective, effective_currency, list, list_currency, contracted, contracted_currency, list_unit_price, list_unit_price_currency, pricing_unit, quantity, tags) VALUES (3, 2, X'fee75a3fb25217ae4cfe148b98db1864', 'gcp', '', '', 'Invoice', 'Other', 'Promotional credit', '', '', '', '', '', '', 'credit', '', 'Credit', 'other', 'unknown', '', 0, 0, 1790812800000000000, 1793491200000000000, 1790812800000000000, 1793491200000000000, -5000000000, 'USD', -5000000000, 'USD', NULL, NULL, NULL, NULL, NULL, NULL, '', '', '[]');
INSERT INTO price (id, import_id, provider, region, instance_type, market, term, payment, rate, rate_currency, estimated, source, as_of) VALUES (1, 4, 'aws', 'us-east-1', 'g5.xlarge', 'on-demand', '', '', 950000000, 'USD', 0, 'our contract 2026-118', 1788220800000000000);
INSERT INTO price (id, import_id, provider, region, instance_type, market, term, payment, rate, rate_currency, estimated, source, as_of) VALUES (2, 4, 'gcp', 'us-central1', 'a2-highgpu-2g', 'reserved', '1y', 'no-upfront', 4628460000, 'USD', 0, 'our contract 2026-121', 1788220800000000000);
INSERT INTO tenant_rule (id, import_id, pattern, client, project, team, environment, workload) VALUES (1, 5, 'namespace/reco-live', 'aurora', 'recommender', '', 'production', '');
INSERT INTO tenant_rule (id, import_id, pattern, client, project, team, environment, workload) VALUES (2, 5, 'account/cc-4410', 'aurora', 'recommender', '', 'training', '');
INSERT INTO tenant_rule (id, import_id, pattern, client, project, team, environment, workload) VALUES (3, 5, 'account/cc-44*', 'birch', '', '', '', '');
PRAGMA application_id = 0x53544e54;
