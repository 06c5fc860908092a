import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CertificateExtension, generate } from "selfsigned";

/** A certificate with its private key, both as PEM text. */
export interface PemKeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Paths of a control plane's certificate files; every value is absolute. */
export interface CertificateFiles {
  readonly ca: string;
  readonly caKey: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly etcdClientCert: string;
  readonly etcdClientKey: string;
  readonly proxyClientCert: string;
  readonly proxyClientKey: string;
  readonly serviceAccountKey: string;
}

/** All certificates of a control plane: files for the components, PEM text for the kubeconfigs. */
export interface Certificates {
  readonly files: CertificateFiles;
  readonly ca: string;
  /** Group `system:masters`. */
  readonly admin: PemKeyPair;
  /** User `system:kube-controller-manager`. */
  readonly controllerManager: PemKeyPair;
  /** Certificate for user `system:pod-simulation` in group `system:masters`. The user name identifies the simulation in the audit log. */
  readonly podSimulation: PemKeyPair;
  readonly etcdClient: PemKeyPair;
}

const LIFETIME_MS = 365 * 24 * 60 * 60 * 1000;
const SERVER_NAMES = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"];
const SERVER_ADDRESSES = ["127.0.0.1", "::1", "10.0.0.1"];

/**
 * Returns the certificates of the control plane with data in `folder`. Reads existing ones, or
 * creates a new authority and all its certificates (about 50 ms; elliptic curve keys). Valid for
 * one year from now.
 */
export async function ensureCertificates(folder: string): Promise<Certificates> {
  const paths = Object.fromEntries(FILES.map((name) => [name, join(folder, name)])) as Record<(typeof FILES)[number], string>;
  if (!existsSync(paths["complete"])) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const [name, text] of await makeAll()) await writeFile(join(folder, name), text, { mode: 0o600 });
    await writeFile(paths["complete"], "");
  }
  const pair = async (name: string): Promise<PemKeyPair> => ({
    cert: await readFile(join(folder, `${name}.crt`), "utf8"),
    key: await readFile(join(folder, `${name}.key`), "utf8"),
  });
  return {
    files: {
      ca: paths["ca.crt"],
      caKey: paths["ca.key"],
      serverCert: paths["server.crt"],
      serverKey: paths["server.key"],
      etcdClientCert: paths["etcd-client.crt"],
      etcdClientKey: paths["etcd-client.key"],
      proxyClientCert: paths["proxy-client.crt"],
      proxyClientKey: paths["proxy-client.key"],
      serviceAccountKey: paths["service-account.key"],
    },
    ca: await readFile(paths["ca.crt"], "utf8"),
    admin: await pair("admin"),
    controllerManager: await pair("controller-manager"),
    podSimulation: await pair("pod-simulation"),
    etcdClient: await pair("etcd-client"),
  };
}

const FILES = [
  "complete",
  "ca.crt",
  "ca.key",
  "server.crt",
  "server.key",
  "etcd-client.crt",
  "etcd-client.key",
  "proxy-client.crt",
  "proxy-client.key",
  "service-account.key",
] as const;

async function makeAll(): Promise<Map<string, string>> {
  const ca = await certificate("olmv1-devcluster", undefined, undefined, [
    { name: "basicConstraints", cA: true, critical: true },
    { name: "keyUsage", keyCertSign: true, cRLSign: true, digitalSignature: true, critical: true },
  ]);
  const client = (user: string, group?: string): Promise<PemKeyPair> =>
    certificate(user, group, ca, [...LEAF, { name: "extKeyUsage", clientAuth: true }]);
  const pairs: Record<string, PemKeyPair> = {
    ca,
    server: await certificate("olmv1-devcluster-server", undefined, ca, [
      ...LEAF,
      { name: "extKeyUsage", serverAuth: true, clientAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          ...SERVER_NAMES.map((value) => ({ type: 2 as const, value })),
          ...SERVER_ADDRESSES.map((ip) => ({ type: 7 as const, ip })),
        ],
      },
    ]),
    "etcd-client": await client("kube-apiserver-etcd-client"),
    "proxy-client": await client("front-proxy-client"),
    admin: await client("kubernetes-admin", "system:masters"),
    "controller-manager": await client("system:kube-controller-manager"),
    "pod-simulation": await client("system:pod-simulation", "system:masters"),
  };
  const texts = new Map<string, string>();
  for (const [name, pair] of Object.entries(pairs)) texts.set(`${name}.crt`, pair.cert).set(`${name}.key`, pair.key);
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return texts.set("service-account.key", privateKey.export({ type: "sec1", format: "pem" }).toString());
}

const LEAF: CertificateExtension[] = [
  { name: "basicConstraints", cA: false, critical: true },
  { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
];

async function certificate(
  cn: string,
  group: string | undefined,
  ca: PemKeyPair | undefined,
  extensions: CertificateExtension[],
): Promise<PemKeyPair> {
  const now = Date.now();
  const subject = [{ name: "commonName", value: cn }, ...(group === undefined ? [] : [{ name: "organizationName", value: group }])];
  const made = await generate(subject, {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: new Date(now - 60_000),
    notAfterDate: new Date(now + LIFETIME_MS),
    extensions,
    ...(ca === undefined ? {} : { ca }),
  });
  return { cert: made.cert, key: createPrivateKey(made.private).export({ type: "sec1", format: "pem" }).toString() };
}
