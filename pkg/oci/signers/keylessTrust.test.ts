import { createHash } from "node:crypto";
import { ExtendedKeyUsage, Extension, type X509Certificate, X509CertificateGenerator } from "@peculiar/x509";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { Signer } from "../../../test/support/signing.ts";
import { type KeylessOptions, type KeylessParts, readBundle, TestSigstore } from "../../../test/support/sigstore.ts";
import type { FoundSignature, SignerEvidence } from "./foundSignature.ts";
import { createSignerTrust } from "./keylessTrust.ts";
import type { FulcioSubject, SignerTrust, TrustRoots } from "./signerTrust.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const NAME = "quay.io/ns/app";
const EMAIL = "alice@example.com";
const ISSUER = "https://issuer.test";
const DAY = 24 * 60 * 60_000;
const MINUTE = 60_000;
const NOW = Date.now();
const FORMS = ["tag", "bundle"] as const;
type Form = (typeof FORMS)[number];

const [sigstore, other] = await Promise.all([TestSigstore.create(), TestSigstore.create()]);

function fulcio(subject: Partial<FulcioSubject> = {}, roots: Partial<Extract<TrustRoots<string>, { kind: "fulcio" }>> = {}): SignerTrust {
  const whom = { issuer: ISSUER, email: EMAIL, ...subject };
  return createSignerTrust({ kind: "fulcio", authorities: sigstore.chainPem, logs: [sigstore.rekor.pem], subject: whom, ...roots });
}

function trustedRoot(from = sigstore): SignerTrust {
  return createSignerTrust({ kind: "trustedRoot", root: from.trustedRoot, subject: { issuer: ISSUER, email: EMAIL } });
}

function make(form: Form, options: KeylessOptions = {}): Promise<KeylessParts> {
  const filled = { email: EMAIL, hasSct: true, notBefore: new Date(NOW - MINUTE), ...options };
  return form === "tag" ? sigstore.claim(DIGEST, NAME, filled) : sigstore.state(DIGEST, NAME, filled);
}

/** Returns "trusted", or the reason. */
function judge(trust: SignerTrust, found: FoundSignature): string {
  return trust.findProblem(found, Buffer.from(found.signature ?? "", "base64"))?.reason ?? "trusted";
}

describe.for(FORMS)("a keyless signature in a %s", (form) => {
  test.for<[what: string, trust: SignerTrust, options: KeylessOptions, want: string]>([
    ["is trusted", fulcio(), {}, "trusted"],
    ["is trusted with a trusted root", trustedRoot(), {}, "trusted"],
    ["is trusted when the certificate has expired since it was logged", fulcio(), { notBefore: new Date(NOW - DAY) }, "trusted"],
    ["is trusted with a trusted root when the certificate has expired", trustedRoot(), { notBefore: new Date(NOW - DAY) }, "trusted"],
    [
      "is not trusted when it was logged after the certificate expired",
      fulcio(),
      { loggedAt: new Date(NOW + 20 * MINUTE) },
      "CertificateExpired",
    ],
    [
      "is not trusted when it was logged before the certificate was issued",
      fulcio(),
      { loggedAt: new Date(NOW - 20 * MINUTE) },
      "CertificateExpired",
    ],
    [
      "is not trusted with a trusted root when it was logged late",
      trustedRoot(),
      { loggedAt: new Date(NOW + 20 * MINUTE) },
      "CertificateExpired",
    ],
    ["is not trusted with another authority", fulcio({}, { authorities: other.chainPem }), {}, "CertificateUntrusted"],
    ["is not trusted with another transparency log", fulcio({}, { logs: [other.rekor.pem] }), {}, "LogEntryUntrusted"],
    ["is trusted with one of two transparency logs", fulcio({}, { logs: [other.rekor.pem, sigstore.rekor.pem] }), {}, "trusted"],
    ["is not trusted with another trusted root", trustedRoot(other), {}, "CertificateUntrusted"],
    ["is not trusted with a trusted root without a certificate timestamp", trustedRoot(), { hasSct: false }, "CertificateUntrusted"],
    ["of another provider is not trusted", fulcio(), { issuer: "https://other.test" }, "IssuerMismatch"],
    ["of another provider is not trusted with a trusted root", trustedRoot(), { issuer: "https://other.test" }, "IssuerMismatch"],
    ["of two providers is not trusted", fulcio(), { oldIssuer: "https://other.test" }, "IssuerMismatch"],
    ["of another person is not trusted", fulcio(), { email: "mallory@example.com" }, "SubjectMismatch"],
    ["of another person is not trusted with a trusted root", trustedRoot(), { email: "mallory@example.com" }, "SubjectMismatch"],
    ["of a person whose address only contains the address is not trusted", fulcio(), { email: `x${EMAIL}` }, "SubjectMismatch"],
    [
      "of a person whose address matches as a pattern is not trusted",
      fulcio({ email: "alice@example.com" }),
      { email: "alice@exampleXcom" },
      "SubjectMismatch",
    ],
    ["without an address is not trusted", fulcio(), { email: undefined as unknown as string, hostname: "example.com" }, "SubjectMismatch"],
    [
      "of a workflow is trusted",
      fulcio({ email: undefined, buildSigner: "https://ci.test/w@v1" }),
      { buildSigner: "https://ci.test/w@v1" },
      "trusted",
    ],
    [
      "of another workflow is not trusted",
      fulcio({ buildSigner: "https://ci.test/w@v1" }),
      { buildSigner: "https://ci.test/w@v2" },
      "SubjectMismatch",
    ],
    ["of no workflow is not trusted", fulcio({ buildSigner: "https://ci.test/w@v1" }), {}, "SubjectMismatch"],
    ["with a certificate for servers is not trusted", fulcio(), { usages: [ExtendedKeyUsage.serverAuth] }, "CertificateUnsuitable"],
    [
      "with a certificate for servers is not trusted with a trusted root",
      trustedRoot(),
      { usages: [ExtendedKeyUsage.serverAuth] },
      "CertificateUnsuitable",
    ],
    ["with a certificate for any use is trusted, as in Go", fulcio(), { usages: [] }, "trusted"],
    ["with an unknown extension is trusted", fulcio(), { extensions: [new Extension("1.2.3.4", false, Buffer.from([5, 0]))] }, "trusted"],
    [
      "with an unknown critical extension is not trusted",
      fulcio(),
      { extensions: [new Extension("1.2.3.4", true, Buffer.from([5, 0]))] },
      "CertificateUnsuitable",
    ],
  ])("%s", async ([, trust, options, want]) => {
    expect(judge(trust, sigstore.toFound(await make(form, options)))).toBe(want);
  });

  test("is not trusted with the log entry of another signature", async () => {
    const [mine, another] = await Promise.all([make(form), make(form)]);
    const { body, set, integratedTime, checkpoint } = another;
    const mixed = sigstore.toFound({ ...mine, body, set, integratedTime, checkpoint });
    expect([judge(fulcio(), mixed), judge(trustedRoot(), mixed)]).toEqual(["LogEntryMismatch", "LogEntryMismatch"]);
  });

  test("is not trusted when the log has the same signature with another certificate", async () => {
    const [mine, another] = await Promise.all([make(form), make(form)]);
    const pem = `-----BEGIN CERTIFICATE-----\n${another.certificate.toString("base64")}\n-----END CERTIFICATE-----\n`;
    const logged = sigstore.logSignature(mine.kind, mine.payload, mine.signature, pem, new Date(NOW));
    const mixed = sigstore.toFound({ ...logged, certificate: mine.certificate });
    expect([judge(fulcio(), mixed), judge(trustedRoot(), mixed)]).toEqual(["LogEntryMismatch", "LogEntryMismatch"]);
  });

  test("is not trusted with the certificate of another signer", async () => {
    const [mine, another] = await Promise.all([make(form), make(form)]);
    expect(judge(fulcio(), sigstore.toFound({ ...mine, certificate: another.certificate }))).toBe("SignatureInvalid");
  });

  test("is not trusted when a byte of a part changes", async () => {
    const parts = await make(form);
    const trust = fulcio();
    const accepted: string[] = [];
    for (const part of ["signature", "payload", "certificate", "body", "set"] as const)
      for (let at = 0; at < parts[part].length; at++)
        if (judge(trust, sigstore.toFound({ ...parts, [part]: flip(parts[part], at) })) === "trusted") accepted.push(`${part} ${at}`);
    expect(accepted).toEqual([]);
  });

  test("is not trusted with a trusted root when a byte of a part changes", async () => {
    const parts = await make(form);
    const trust = trustedRoot();
    const byte = fc.record({ part: fc.constantFrom("signature", "payload", "certificate", "body", "set"), at: fc.nat(), bit: fc.nat(7) });
    const check = fc.property(byte, ({ part, at, bit }) => {
      const key = part as "signature";
      expect(judge(trust, sigstore.toFound({ ...parts, [key]: flip(parts[key], at % parts[key].length, bit) }))).not.toBe("trusted");
    });
    fc.assert(check, { numRuns: 150 });
  });

  test("is not trusted when it was logged at another time than the log states", async () => {
    const parts = await make(form);
    expect(judge(fulcio(), sigstore.toFound({ ...parts, integratedTime: parts.integratedTime + 1 }))).toBe("LogEntryUntrusted");
  });
});

/** Changes one bit of one byte. */
function flip(bytes: Buffer, at: number, bit = at % 8): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

describe("the checkpoint of an inclusion proof", () => {
  test("is not trusted when a character or a byte of its signature changes", async () => {
    const parts = await make("bundle");
    const [trust, root] = [fulcio(), trustedRoot()];
    const text = Buffer.from(parts.checkpoint);
    const mark = parts.checkpoint.lastIndexOf(" ") + 1;
    const signature = Buffer.from(parts.checkpoint.slice(mark), "base64");
    const changed = [
      ...Array.from({ length: Buffer.byteLength(parts.checkpoint.slice(0, mark)) }, (_, at) => flip(text, at).toString("utf8")),
      ...Array.from(
        { length: signature.length },
        (_, at) => `${parts.checkpoint.slice(0, mark)}${flip(signature, at).toString("base64")}\n`,
      ),
      parts.checkpoint.slice(0, -1),
      `${parts.checkpoint.slice(0, -2)}-\n`,
    ];
    const accepted = changed.filter(
      (checkpoint, index) => judge(index % 4 === 0 ? root : trust, sigstore.toFound({ ...parts, checkpoint })) === "trusted",
    );
    expect(accepted).toEqual([]);
  });

  interface Proof {
    logIndex: string;
    hashes: string[];
    checkpoint: { envelope: string };
  }
  test.for<[what: string, change: (proof: Proof) => unknown, want: string]>([
    ["for another index", (proof) => Object.assign(proof, { logIndex: "0" }), "LogEntryUntrusted"],
    ["with a changed hash", ({ hashes }) => hashes.splice(0, 1, Buffer.alloc(32).toString("base64")), "LogEntryUntrusted"],
    ["with fewer hashes", ({ hashes }) => hashes.pop(), "LogEntryUntrusted"],
    ["with too many hashes", ({ hashes }) => hashes.push(...Array.from({ length: 63 }, () => "AA==")), "SignatureMalformed"],
    ["with a number of a thousand digits", (proof) => Object.assign(proof, { logIndex: "9".repeat(1000) }), "SignatureMalformed"],
    ["that is too large", ({ checkpoint }) => Object.assign(checkpoint, { envelope: "x".repeat(10_000) }), "SignatureMalformed"],
    [
      "whose name is a costly regular expression",
      ({ checkpoint }) =>
        Object.assign(checkpoint, { envelope: checkpoint.envelope.replace(/\u2014 \S+/, "\u2014 (.+)+(.+)+(.+)+(.+)+X") }),
      "SignatureMalformed",
    ],
  ])("is not trusted %s", async ([, change, want]) => {
    const bundle = sigstore.toBundle(await make("bundle")) as { verificationMaterial: { tlogEntries: [{ inclusionProof: Proof }] } };
    change(bundle.verificationMaterial.tlogEntries[0].inclusionProof);
    expect([judge(fulcio(), readBundle(bundle)), judge(trustedRoot(), readBundle(bundle))]).toEqual([want, want]);
  });
});

describe("a bundle without a signed entry timestamp", () => {
  const withTimestamp = async (change: (parts: KeylessParts) => Buffer | undefined): Promise<FoundSignature> => {
    const parts = await make("bundle");
    return sigstore.toFound({ ...parts, set: Buffer.alloc(0), timestamp: change(parts) });
  };

  test("is trusted with a timestamp of an authority in the trusted root", async () => {
    const found = await withTimestamp(({ signature }) => sigstore.timestamp(signature, new Date(NOW)));
    expect([judge(trustedRoot(), found), judge(fulcio(), found)]).toEqual(["trusted", "TimestampMissing"]);
  });

  test.for<[what: string, stamp: (parts: KeylessParts) => Buffer | undefined, want: string]>([
    ["without a timestamp", () => undefined, "TimestampMissing"],
    ["with the timestamp of another signature", () => sigstore.timestamp(Buffer.from("another"), new Date(NOW)), "TimestampUntrusted"],
    ["with a timestamp of another authority", ({ signature }) => other.timestamp(signature, new Date(NOW)), "TimestampUntrusted"],
    [
      "with a timestamp after the certificate expired",
      ({ signature }) => sigstore.timestamp(signature, new Date(NOW + 20 * MINUTE)),
      "CertificateExpired",
    ],
    ["with a malformed timestamp", () => Buffer.from("3003020100", "hex"), "SignatureMalformed"],
  ])("is not trusted %s", async ([, stamp, want]) => {
    expect(judge(trustedRoot(), await withTimestamp(stamp))).toBe(want);
  });

  test("is not trusted when a byte of the timestamp's content or signature changes", async () => {
    const parts = await make("bundle");
    const timestamp = sigstore.timestamp(parts.signature, new Date(NOW));
    const trust = trustedRoot();
    const content = timestamp.indexOf(createHash("sha256").update(parts.signature).digest());
    const changed = [
      ...Array.from({ length: 32 + 3 + 2 + 15 }, (_, at) => content + at),
      ...Array.from({ length: 70 }, (_, at) => timestamp.length - 70 + at),
    ];
    const accepted = changed.filter((at) => {
      const found = sigstore.toFound({ ...parts, set: Buffer.alloc(0), timestamp: flip(timestamp, at) });
      return judge(trust, found) === "trusted";
    });
    expect(accepted).toEqual([]);
  });
});

describe("missing and malformed evidence", () => {
  test.for<[what: string, change: (attached: SignerEvidence) => SignerEvidence | undefined, want: string]>([
    ["without anything attached", () => undefined, "CertificateMissing"],
    ["without a certificate", ({ certificate: _certificate, ...rest }) => rest, "CertificateMissing"],
    ["without a log entry", ({ logEntry: _entry, ...rest }) => rest, "LogEntryMissing"],
    ["with two certificates", (all) => ({ ...all, certificate: `${all.certificate}${all.certificate}` }), "SignatureMalformed"],
    ["with an empty certificate", (all) => ({ ...all, certificate: "" }), "SignatureMalformed"],
    ["with trailing bytes after the certificate", (all) => ({ ...all, certificate: append(all.certificate) }), "SignatureMalformed"],
    [
      "with a huge certificate",
      (all) => ({ ...all, certificate: all.certificate?.replace("MI", `${"A".repeat(70_000)}MI`) }),
      "SignatureMalformed",
    ],
    ["with many certificates in the chain", (all) => ({ ...all, chain: all.chain?.repeat(9) }), "SignatureMalformed"],
    [
      "with an unknown member in the log entry",
      (all) => ({ ...all, logEntry: all.logEntry?.replace("{", '{"x":1,') }),
      "SignatureMalformed",
    ],
    [
      "with a repeated member in the log entry",
      (all) => ({ ...all, logEntry: all.logEntry?.replace('"logIndex":1', '"logIndex":1,"logIndex":1') }),
      "SignatureMalformed",
    ],
    [
      "with a fraction in the log entry",
      (all) => ({ ...all, logEntry: all.logEntry?.replace('"logIndex":1', '"logIndex":1.5') }),
      "SignatureMalformed",
    ],
    ["with a log entry that is not JSON", (all) => ({ ...all, logEntry: "{" }), "SignatureMalformed"],
    ["with a huge log entry", (all) => ({ ...all, logEntry: `${all.logEntry}${" ".repeat(70_000)}` }), "SignatureMalformed"],
    ["with a bundle that is not JSON", () => ({ bundle: "{" }), "SignatureMalformed"],
    ["with a bundle without content", () => ({ bundle: "{}" }), "SignatureMalformed"],
  ])("a signature %s is not trusted", async ([, change, want]) => {
    const found = sigstore.toFound(await make("tag"));
    expect(judge(fulcio(), { ...found, attached: change(found.attached ?? {}) })).toBe(want);
  });

  test("any texts are not trusted, and never throw", async () => {
    const { payload, signature } = await make("tag");
    const trust = [fulcio(), trustedRoot(), pki({ email: EMAIL })];
    const text = fc.option(fc.oneof(fc.string(), fc.json(), fc.constant(sigstore.chainPem)), { nil: undefined });
    const evidence = fc.record({ certificate: text, chain: text, logEntry: text, bundle: text });
    const check = fc.property(evidence, (attached) => {
      for (const one of trust) expect(judge(one, { payload, signature: signature.toString("base64"), attached })).not.toBe("trusted");
    });
    fc.assert(check, { numRuns: 200 });
  });
});

/** Adds a byte to a certificate. */
function append(pem = ""): string {
  const body = pem.split("\n")[1] ?? "";
  return pem.replace(body, Buffer.concat([Buffer.from(body, "base64"), Buffer.from([0])]).toString("base64"));
}

/** Returns the certificate of an authority with name constraints that permit addresses of example.com. */
async function constrain(which: "root" | "intermediate", isCritical: boolean): Promise<X509Certificate> {
  const { certificate, keys } = sigstore[which];
  const { subject, issuer, notBefore, notAfter, extensions } = certificate;
  const constraints = new Extension("2.5.29.30", isCritical, Buffer.from("3011a00f300d810b6578616d706c652e636f6d", "hex"));
  return X509CertificateGenerator.create({
    subject,
    issuer,
    notBefore,
    notAfter,
    signingAlgorithm: keys.privateKey.algorithm,
    publicKey: keys.publicKey,
    signingKey: sigstore.root.keys.privateKey,
    extensions: [...extensions, constraints],
  });
}

test.for(["root", "intermediate"] as const)(
  "createSignerTrust rejects a trusted root when its only %s authority has name constraints",
  async (which) => {
    const toText = ({ rawData }: X509Certificate): string => Buffer.from(rawData).toString("base64");
    const root = sigstore.trustedRoot.replace(toText(sigstore[which].certificate), toText(await constrain(which, false)));
    const subject = { issuer: ISSUER, email: EMAIL };
    expect(() => createSignerTrust({ kind: "trustedRoot", root, subject })).toThrow("have name constraints");
  },
);

function pki(
  subject: { email?: string; hostname?: string },
  o: { authorities?: string; intermediates?: string; now?: Date } = {},
): SignerTrust {
  const { authorities = sigstore.rootPem, intermediates, now = new Date(NOW) } = o;
  return createSignerTrust({ kind: "pki", authorities, intermediates, subject }, () => now);
}

describe("a certificate of another authority", () => {
  const unrelated = `${sigstore.timestampRoot.certificate.toString("pem")}\n`.repeat(100);
  const intermediate = sigstore.intermediate.certificate.toString("pem");
  test.for<[what: string, trust: SignerTrust, options: KeylessOptions, want: string]>([
    ["with the address is trusted", pki({ email: EMAIL }), {}, "trusted"],
    ["with the hostname is trusted", pki({ hostname: "build.example.com" }), { hostname: "build.example.com" }, "trusted"],
    ["with a wildcard is trusted", pki({ hostname: "build.example.com" }), { hostname: "*.example.com" }, "trusted"],
    [
      "with a wildcard for another level is not trusted",
      pki({ hostname: "a.build.example.com" }),
      { hostname: "*.example.com" },
      "SubjectMismatch",
    ],
    ["with the wildcard of the policy is trusted", pki({ hostname: "*.example.com" }), { hostname: "*.example.com" }, "trusted"],
    [
      "with a name below the wildcard of the policy is not trusted, as in Go",
      pki({ hostname: "*.example.com" }),
      { hostname: "a.example.com" },
      "SubjectMismatch",
    ],
    ["with address and hostname is trusted", pki({ email: EMAIL, hostname: "h.test" }), { hostname: "h.test" }, "trusted"],
    [
      "with the address but another hostname is not trusted",
      pki({ email: EMAIL, hostname: "h.test" }),
      { hostname: "i.test" },
      "SubjectMismatch",
    ],
    ["for another address is not trusted", pki({ email: EMAIL }), { email: "mallory@example.com" }, "SubjectMismatch"],
    ["from an intermediate authority in the policy is trusted", pki({ email: EMAIL }, { intermediates: intermediate }), {}, "trusted"],
    ["from an intermediate authority as anchor is trusted", pki({ email: EMAIL }, { authorities: intermediate }), {}, "trusted"],
    ["that has expired is not trusted", pki({ email: EMAIL }, { now: new Date(NOW + DAY) }), {}, "CertificateExpired"],
    ["from an unknown authority is not trusted", pki({ email: EMAIL }, { authorities: other.rootPem }), {}, "CertificateUntrusted"],
    [
      "with an unknown intermediate authority is not trusted",
      pki({ email: EMAIL }, { authorities: other.rootPem, intermediates: intermediate }),
      {},
      "CertificateUntrusted",
    ],
    ["from one of many authorities is trusted", pki({ email: EMAIL }, { authorities: `${unrelated}${sigstore.rootPem}` }), {}, "trusted"],
    ["for servers is not trusted", pki({ email: EMAIL }), { usages: [ExtendedKeyUsage.serverAuth] }, "CertificateUnsuitable"],
  ])("%s", async ([, trust, options, want]) => {
    expect(judge(trust, sigstore.toFound(await make("tag", options)))).toBe(want);
  });

  test("is not trusted when more authorities than are tried have its authority's name", async () => {
    const { certificate, keys } = sigstore.root;
    const namesake = await X509CertificateGenerator.create({
      subject: certificate.subject,
      issuer: certificate.issuer,
      signingAlgorithm: keys.privateKey.algorithm,
      publicKey: other.root.keys.publicKey,
      signingKey: other.root.keys.privateKey,
      extensions: certificate.extensions,
    });
    const withNamesakes = (count: number) => `${`${namesake.toString("pem")}\n`.repeat(count)}${sigstore.rootPem}`;
    const found = sigstore.toFound(await make("tag"));
    const problems = [8, 16].map((count) => judge(pki({ email: EMAIL }, { authorities: withNamesakes(count) }), found));
    expect(problems).toEqual(["trusted", "CertificateUntrusted"]);
  });

  test.for([false, true])("is not trusted when an authority has name constraints (critical: %s)", async (isCritical) => {
    const root = await constrain("root", isCritical);
    const constrained = await constrain("intermediate", isCritical);
    const found = sigstore.toFound(await make("tag"));
    const withChain = (chain: string): FoundSignature => ({ ...found, attached: { ...found.attached, chain } });
    const judged = [
      judge(pki({ email: EMAIL }, { authorities: root.toString("pem") }), withChain(intermediate)),
      judge(pki({ email: EMAIL }, { authorities: constrained.toString("pem") }), withChain("")),
      judge(pki({ email: EMAIL }), withChain(constrained.toString("pem"))),
    ];
    expect(judged).toEqual(["CertificateUnsuitable", "CertificateUnsuitable", "CertificateUnsuitable"]);
  });

  test("is not trusted when a byte of it or of the intermediate authority changes", async () => {
    const parts = await make("tag");
    const trust = pki({ email: EMAIL });
    const der = Buffer.from(sigstore.intermediate.certificate.rawData);
    const toChain = (bytes: Buffer): string => `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`;
    const found = sigstore.toFound(parts);
    const accepted = [
      ...Array.from(parts.certificate, (_, at) => sigstore.toFound({ ...parts, certificate: flip(parts.certificate, at) })),
      ...Array.from(der, (_, at) => ({ ...found, attached: { ...found.attached, chain: toChain(flip(der, at)) } })),
    ].filter((changed) => judge(trust, changed) === "trusted");
    expect([judge(trust, { ...found, attached: { ...found.attached, chain: toChain(der) } }), accepted]).toEqual(["trusted", []]);
  });

  test("is not trusted when a signer without authority issued it", async () => {
    const signer = await other.issue({ email: EMAIL });
    const certificate = signer.certificate.toString("pem");
    const found = sigstore.toFound(await make("tag"));
    const attached = { ...found.attached, chain: `${certificate}${found.attached?.chain}` };
    expect(judge(pki({ email: EMAIL }, { authorities: certificate }), { ...found, attached })).toBe("CertificateUntrusted");
  });
});

describe("a key with a transparency log", () => {
  const alice = new Signer();
  const trust = createSignerTrust({ kind: "keys", keys: [new Signer().pem, alice.pem], logs: [sigstore.rekor.pem] });
  const logged = (form: Form, pem = alice.pem): FoundSignature => {
    const { payload, signature } = form === "tag" ? alice.claim(DIGEST, NAME) : alice.state(DIGEST, NAME);
    const kind = form === "tag" ? "hashedrekord" : "dsse";
    const parts = sigstore.logSignature(kind, Buffer.from(payload), Buffer.from(signature, "base64"), pem, new Date(NOW));
    return form === "tag" ? sigstore.toTagged(parts, "public-key") : readBundle(sigstore.toBundle(parts, "public-key"));
  };

  test.for(FORMS)("is trusted with its entry in a %s", (form) => {
    expect(judge(trust, logged(form))).toBe("trusted");
  });

  test.for<[what: string, found: FoundSignature, want: string]>([
    ["without an entry", alice.claim(DIGEST, NAME), "LogEntryMissing"],
    ["with the entry of another key", logged("tag", new Signer().pem), "LogEntryMismatch"],
    [
      "with the entry of another signature",
      { ...logged("tag"), ...alice.claim(DIGEST, "quay.io/ns/other"), attached: logged("tag").attached },
      "LogEntryMismatch",
    ],
    ["that is not in the policy", new Signer().claim(DIGEST, NAME), "SignatureInvalid"],
  ])("is not trusted %s", ([, found, want]) => {
    expect(judge(trust, found)).toBe(want);
  });
});

test.for<[what: string, roots: TrustRoots<string>, want: string]>([
  [
    "authority",
    { kind: "pki", authorities: "", intermediates: undefined, subject: { email: EMAIL } },
    "parsing certificates: PEM block CERTIFICATE not found",
  ],
  ["log", { kind: "keys", keys: [], logs: ["x"] }, "parsing public key: PEM block PUBLIC KEY not found"],
  [
    "trusted root",
    { kind: "trustedRoot", root: "{}", subject: { issuer: ISSUER, email: EMAIL } },
    "parsing trusted root: it has no certificateAuthorities or no tlogs",
  ],
])("a policy with an invalid %s is not usable", ([, roots, want]) => {
  expect(() => createSignerTrust(roots)).toThrow(want);
});

interface KeylessCase extends CaseHead {
  authorities: string;
  log: string;
  trustedRoot: string;
  subject: FulcioSubject;
  payload: string;
  signature: string;
  attached: SignerEvidence;
}

// Source: TestVerifyRekorFulcio and TestFulcioTrustRootVerifyFulcioCertificateAtTime of containers/image.
test.for(loadCases<KeylessCase>("keyless-signatures"))("$name", ({ authorities, log, trustedRoot: root, subject, attached, ...one }) => {
  const found = { payload: Buffer.from(one.payload), signature: one.signature, attached };
  const withKeys = (changed: Partial<FulcioSubject> = {}): SignerTrust =>
    createSignerTrust({ kind: "fulcio", authorities, logs: [log], subject: { ...subject, ...changed } });
  expect(judge(withKeys(), found)).toBe("trusted");
  expect(judge(createSignerTrust({ kind: "trustedRoot", root, subject }), found)).toBe("trusted");
  expect(judge(withKeys(), { ...found, payload: Buffer.from("this payload does not match") })).toBe("SignatureInvalid");
  expect(judge(withKeys({ email: "this-does-not-match@example.com" }), found)).toBe("SubjectMismatch");
  expect(judge(withKeys({ issuer: "https://accounts.google.com" }), found)).toBe("IssuerMismatch");
  expect(judge(withKeys(), { ...found, attached: { ...attached, chain: undefined } })).toBe("CertificateUntrusted");
});
