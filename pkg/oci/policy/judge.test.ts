import { generateKeyPairSync, type KeyObject } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { bundleOf, claimPayload, KEY_KINDS, Signer } from "../../../test/support/signing.ts";
import { parseReference } from "../reference.ts";
import { encodeSignedBytes, type FoundSignature } from "../signers/foundSignature.ts";
import { KeyTrust } from "../signers/keyTrust.ts";
import { parsePublicKey } from "../signers/publicKey.ts";
import { judgeImage, type PolicyVerdict, type ReadyRequirement } from "./judge.ts";
import { readSignatureBundle } from "./signatureFormats.ts";
import type { SignedIdentity } from "./signedIdentity.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const INDEX = `sha256:${"b".repeat(64)}`;
const OTHER = `sha256:${"c".repeat(64)}`;
const REPOSITORY = "quay.io/ns/app";
const image = { ref: parseReference(`${REPOSITORY}:v1`), digests: [DIGEST, INDEX] };
const alice = new Signer();
const bob = new Signer("Ed25519");

function signed(by: readonly Signer[], identity: SignedIdentity = { type: "matchRepository" }): ReadyRequirement {
  return { type: "sigstoreSigned", trust: new KeyTrust(by.map(({ pem }) => parsePublicKey(pem))), identity };
}

function refusal(verdict: PolicyVerdict): string {
  return "refused" in verdict ? verdict.refused.message : `accepted ${verdict.accepted.length}`;
}

const none = "cryptographic signature verification failed: the signature does not match any key in the policy";

// Source: containers-policy.json(5) "sigstoreSigned", SIGNATURE_SPEC.md of cosign.
describe("judgeImage", () => {
  test.for(KEY_KINDS)("judgeImage accepts a signature by a key of type %s, but not by another key of that type", (kind) => {
    const [mine, theirs] = [new Signer(kind), new Signer(kind)];
    const signature = mine.claim(DIGEST, REPOSITORY);
    expect(judgeImage([signed([mine])], image, [signature])).toEqual({ accepted: [signature] });
    expect(refusal(judgeImage([signed([theirs])], image, [signature]))).toBe(none);
  });

  const good = alice.claim(DIGEST, REPOSITORY);
  test.for<[what: string, requirements: ReadyRequirement[], signatures: FoundSignature[], want: string]>([
    ["is accepted by insecureAcceptAnything", [{ type: "insecureAcceptAnything" }], [], "accepted 0"],
    ["is rejected by reject", [{ type: "reject" }], [good], "Running image docker://quay.io/ns/app:v1 is rejected by policy."],
    [
      "must meet all requirements",
      [{ type: "insecureAcceptAnything" }, { type: "reject" }],
      [good],
      "Running image docker://quay.io/ns/app:v1 is rejected by policy.",
    ],
    [
      "is not accepted by an unsupported requirement",
      [{ type: "unsupported", what: '"signedBy"' }],
      [good],
      'the signature policy requires "signedBy" for docker://quay.io/ns/app:v1, which is not supported: use "sigstoreSigned"',
    ],
    ["without a signature", [signed([alice])], [], "A signature was required, but no signature exists"],
    ["whose index is signed is accepted", [signed([alice])], [alice.claim(INDEX, REPOSITORY)], "accepted 1"],
    ["signed by one of two keys is accepted", [signed([bob, alice])], [good], "accepted 1"],
    ["with a valid signature among others is accepted", [signed([alice])], [bob.claim(DIGEST, REPOSITORY), good], "accepted 1"],
    ["that requires two signatures, signed by one", [signed([alice]), signed([bob])], [good], none],
    ["that requires two signatures, signed by both", [signed([alice]), signed([bob])], [good, bob.claim(DIGEST, REPOSITORY)], "accepted 2"],
    ["signed for another digest", [signed([alice])], [alice.claim(OTHER, REPOSITORY)], `Signature for digest ${OTHER} does not match`],
    [
      "signed under another name",
      [signed([alice])],
      [alice.claim(DIGEST, "quay.io/ns/other")],
      'Signature for identity "quay.io/ns/other" is not accepted',
    ],
    [
      "signed by cosign, requested by tag",
      [signed([alice], { type: "matchRepoDigestOrExact" })],
      [good],
      'Signature for identity "quay.io/ns/app" is not accepted: the identity has no tag, as usual for cosign signatures; use signedIdentity "matchRepository" or "exactRepository" to accept it',
    ],
    [
      "whose stored entry lacks the signature",
      [signed([alice])],
      [{ payload: good.payload, signature: undefined }],
      "missing dev.cosignproject.cosign/signature annotation",
    ],
    [
      "whose signature is not base64",
      [signed([alice])],
      [{ ...good, signature: `${good.signature} ` }],
      "base64 decoding: illegal base64 data",
    ],
    ["whose signature is empty", [signed([alice])], [{ ...good, signature: "" }], "base64 decoding: illegal base64 data"],
    [
      "without any valid signature: each reason once",
      [signed([alice])],
      [bob.claim(DIGEST, REPOSITORY), alice.claim(OTHER, REPOSITORY), bob.claim(OTHER, REPOSITORY)],
      `None of the signatures were accepted, reasons: ${none}; Signature for digest ${OTHER} does not match`,
    ],
  ])("%s", ([, requirements, signatures, want]) => {
    expect(refusal(judgeImage(requirements, image, signatures))).toBe(want);
  });

  test("judgeImage lists a bounded number of reasons when it rejects an image", () => {
    const many = Array.from({ length: 30 }, (_, index) => alice.claim(DIGEST, `quay.io/ns/app${index}`));
    expect(refusal(judgeImage([signed([alice])], image, many))).toMatch(/^None of the .*app3" is not accepted; and 26 more$/);
  });
});

interface CosignCase extends CaseHead {
  key: string;
  payload: string;
  signature: string;
  image: string;
}

const ofCosign = loadCases<CosignCase>("signature-policy").filter((one) => "signature" in one);
test.for(ofCosign)("$name", ({ key, payload, signature, image: text }) => {
  const ref = parseReference(text);
  const digests = [ref.digest ?? ""];
  const requirement: ReadyRequirement = {
    type: "sigstoreSigned",
    trust: new KeyTrust([parsePublicKey(key)]),
    identity: { type: "matchRepository" },
  };
  const found = { payload: Buffer.from(payload), signature };
  expect(judgeImage([requirement], { ref, digests }, [found])).toEqual({ accepted: [found] });
  expect(refusal(judgeImage([requirement], { ref, digests: [OTHER] }, [found]))).toBe(`Signature for digest ${ref.digest} does not match`);
  expect(refusal(judgeImage([requirement], { ref: parseReference("quay.io/a:v1"), digests }, [found]))).toContain("is not accepted");
});

test("the test cases contain signatures that cosign created", () => expect(ofCosign.length).toBeGreaterThan(0));

interface BundleCase extends CaseHead {
  key: string;
  bundle: string;
  image: string;
  statesName: boolean;
}

const NAMELESS =
  'Signature for identity "" is not accepted: cosign 3 signs without an image name unless you pass -a docker-reference=NAME; use signedIdentity "matchDigest" to accept such signatures';

const bundlesOfCosign = loadCases<BundleCase>("signature-policy").filter((one) => "bundle" in one);
test.for(bundlesOfCosign)("$name", ({ key, bundle, image: text, statesName }) => {
  const ref = parseReference(text);
  const digests = [ref.digest ?? ""];
  const found = readSignatureBundle(Buffer.from(bundle));
  if (!found) throw new Error("nothing is read of the bundle");
  const by = (type: "matchDigest" | "matchRepository"): ReadyRequirement[] => [
    { type: "sigstoreSigned", trust: new KeyTrust([parsePublicKey(key)]), identity: { type } },
  ];
  expect(judgeImage(by("matchDigest"), { ref, digests }, [found])).toEqual({ accepted: [found] });
  expect(refusal(judgeImage(by("matchRepository"), { ref, digests }, [found]))).toBe(statesName ? "accepted 1" : NAMELESS);
  expect(refusal(judgeImage(by("matchDigest"), { ref, digests: [OTHER] }, [found]))).toBe(
    `Signature for digest ${ref.digest} does not match`,
  );
  expect(refusal(judgeImage([signed([alice])], { ref, digests }, [found]))).toBe(none);
  expect(refusal(judgeImage(by("matchDigest"), { ref, digests }, [{ ...found, isStatement: false }]))).toBe(none);
});

test("the test cases contain bundles that cosign created", () => expect(bundlesOfCosign.length).toBeGreaterThan(0));

// Source: cosign BUNDLE_SPEC.md, in-toto attestation spec v1.
describe("a sigstore bundle", () => {
  test.for(KEY_KINDS)("judgeImage accepts a sigstore bundle signed with a key of type %s, but rejects another key of that type", (kind) => {
    const [mine, theirs] = [new Signer(kind), new Signer(kind)];
    const found = mine.state(DIGEST, REPOSITORY);
    expect(readSignatureBundle(Buffer.from(JSON.stringify(bundleOf(found))))).toMatchObject(found);
    expect(refusal(judgeImage([signed([mine])], image, [found]))).toBe("accepted 1");
    expect(refusal(judgeImage([signed([theirs])], image, [found]))).toBe(none);
  });

  const statement = JSON.parse(alice.state(DIGEST, REPOSITORY).payload.toString()) as Record<string, unknown>;
  const changed = (members: object): string => JSON.stringify({ ...statement, ...members });
  const subject = { digest: { sha256: DIGEST.slice("sha256:".length) } };
  test.for<[what: string, payload: string | Buffer, want: string]>([
    ["with unknown members", changed({ more: 1 }), "accepted 1"],
    ["of several images", changed({ subject: [{ digest: { sha256: "d".repeat(64) } }, ...(statement["subject"] as [])] }), "accepted 1"],
    ["of the index", alice.state(INDEX, REPOSITORY).payload.toString(), "accepted 1"],
    ["of another image", alice.state(OTHER, REPOSITORY).payload.toString(), `Signature for digest ${OTHER} does not match`],
    ["without annotations", changed({ subject: [subject] }), NAMELESS],
    [
      "with another name",
      alice.state(DIGEST, "quay.io/ns/other").payload.toString(),
      'Signature for identity "quay.io/ns/other" is not accepted',
    ],
    ["with an invalid name", changed({ subject: [{ ...subject, annotations: { "docker-reference": 1 } }] }), "is not a string"],
    [
      "that is an attestation",
      alice.state(DIGEST, REPOSITORY, "https://slsa.dev/provenance/v1").payload.toString(),
      'the sigstore bundle is an attestation of type "https://slsa.dev/provenance/v1", not an image signature',
    ],
    ["of an older kind", changed({ _type: "https://in-toto.io/Statement/v0.1" }), "Unrecognized statement type"],
    ["without subject", changed({ subject: [] }), "the statement has no subject"],
    ["with an invalid digest", changed({ subject: [{ digest: { sha256: "1" } }] }), "invalid subject digest"],
    ["with a digest of another algorithm", changed({ subject: [{ digest: { sha1: "1" } }] }), 'Key "sha256" is not a string'],
    ["with a duplicate member", changed({}).replace("{", '{"subject":[],'), 'Duplicate key "subject"'],
    ["with excessive nesting", "[".repeat(100_000), "invalid JSON: "],
    ["with invalid UTF-8", Buffer.from([0xff]), "invalid UTF-8"],
  ])("%s", ([, payload, want]) => {
    expect(refusal(judgeImage([signed([alice])], image, [alice.stated(Buffer.from(payload))]))).toContain(want);
  });

  const good = bundleOf(alice.state(DIGEST, REPOSITORY)) as { dsseEnvelope: object };
  test.for<[what: string, text: string]>([
    ["with invalid JSON", "{"],
    ["of a message", JSON.stringify({ ...good, dsseEnvelope: undefined, messageSignature: { signature: "AA==" } })],
    ["with another payload type", JSON.stringify({ ...good, dsseEnvelope: { ...good.dsseEnvelope, payloadType: "text/plain" } })],
    ["with two signatures", JSON.stringify({ ...good, dsseEnvelope: { ...good.dsseEnvelope, signatures: [{ sig: "A" }, { sig: "A" }] } })],
    ["without a signature", JSON.stringify({ ...good, mediaType: "application/json" })],
    ["whose payload is not base64", JSON.stringify({ ...good, dsseEnvelope: { ...good.dsseEnvelope, payload: "!" } })],
  ])("readSignatureBundle returns undefined for a bundle %s", ([, text]) => expect(readSignatureBundle(Buffer.from(text))).toBeUndefined());

  test("judgeImage rejects the payload of a sigstore bundle as a simple signing signature, and vice versa", () => {
    const claim = claimPayload(DIGEST, REPOSITORY);
    expect(refusal(judgeImage([signed([alice])], image, [alice.stated(claim)]))).toBe('Key "_type" is not a string');
    const { payload } = alice.state(DIGEST, REPOSITORY);
    expect(refusal(judgeImage([signed([alice])], image, [alice.sign(payload)]))).toContain("Unknown key");
    expect(refusal(judgeImage([signed([alice])], image, [{ ...alice.sign(encodeSignedBytes(payload)), isStatement: false }]))).toContain(
      "invalid JSON",
    );
  });
});

describe("a signed payload", () => {
  const text = claimPayload(DIGEST, REPOSITORY).toString();
  test.for<[what: string, payload: string | Buffer, want: string]>([
    ["without optional fields", text, "accepted 1"],
    ["with optional fields", text.replace("null", '{"creator":"me","timestamp":1,"other":[1]}'), "accepted 1"],
    [
      "of another type",
      text.replace("cosign container", "atomic container"),
      'Unrecognized signature type "atomic container image signature"',
    ],
    ["with an unknown member", text.replace('"optional"', '"more":1,"optional"'), 'Unknown key "more"'],
    [
      "with two digests",
      text.replace('"docker-manifest-digest"', `"docker-manifest-digest":"${OTHER}","docker-manifest-digest"`),
      'Duplicate key "docker-manifest-digest"',
    ],
    ["with two identities", text.replace('"identity"', `"identity":{"docker-reference":"a"},"identity"`), 'Duplicate key "identity"'],
    ["with an invalid digest", text.replace(DIGEST, "sha256:1"), "invalid docker-manifest-digest value: invalid checksum digest length"],
    ["without an identity", text.replace('"docker-reference"', '"x"'), 'Unknown key "x"'],
    ["without optional fields or null", text.replace(',"optional":null', ""), 'Key "optional" missing in a JSON object'],
    ["with an invalid time", text.replace("null", '{"timestamp":1.5}'), "Field optional.timestamp is not is not an integer"],
    ["with an invalid creator", text.replace("null", '{"creator":1}'), 'Key "creator" is not a string'],
    ["with excessive nesting", "[".repeat(100_000), "invalid JSON: "],
    ["with invalid JSON", "x", "invalid JSON: "],
    ["with invalid UTF-8", Buffer.from([0xff]), "invalid UTF-8"],
  ])("%s", ([, payload, want]) => {
    expect(refusal(judgeImage([signed([alice])], image, [alice.sign(Buffer.from(payload))]))).toContain(want);
  });
});

describe("changed signatures are rejected", () => {
  const flips = fc.record({ at: fc.nat(), bit: fc.nat(7) });
  const flipped = (bytes: Uint8Array, { at, bit }: { at: number; bit: number }): Buffer => {
    const copy = Buffer.from(bytes);
    copy[at % copy.length] = (copy[at % copy.length] ?? 0) ^ (1 << bit);
    return copy;
  };

  test.for(KEY_KINDS)("judgeImage rejects a signature when a bit of its payload changes, with key type %s", (kind) => {
    const signer = new Signer(kind);
    const { payload, signature } = signer.claim(DIGEST, REPOSITORY);
    fc.assert(
      fc.property(flips, (flip) => {
        expect(refusal(judgeImage([signed([signer])], image, [{ payload: flipped(payload, flip), signature }]))).toBe(none);
      }),
    );
  });

  test.for(KEY_KINDS)("judgeImage rejects a signature when one of its bits changes, with key type %s", (kind) => {
    const signer = new Signer(kind);
    const { payload, signature } = signer.claim(DIGEST, REPOSITORY);
    fc.assert(
      fc.property(flips, (flip) => {
        const other = flipped(Buffer.from(signature, "base64"), flip).toString("base64");
        expect(refusal(judgeImage([signed([signer])], image, [{ payload, signature: other }]))).toBe(none);
      }),
    );
  });

  test.for(KEY_KINDS)("judgeImage rejects a signature when a bit of its base64 text changes, with key type %s", (kind) => {
    const signer = new Signer(kind);
    const { payload, signature } = signer.claim(DIGEST, REPOSITORY);
    fc.assert(
      fc.property(flips, (flip) => {
        const other = flipped(Buffer.from(signature, "latin1"), flip).toString("latin1");
        expect(judgeImage([signed([signer])], image, [{ payload, signature: other }])).toHaveProperty("refused");
      }),
    );
  });

  test("judgeImage rejects an arbitrary value instead of a signature", () => {
    const { payload } = alice.claim(DIGEST, REPOSITORY);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64")),
        ),
        (signature) => {
          expect(judgeImage([signed([alice, bob])], image, [{ payload, signature }])).toHaveProperty("refused");
        },
      ),
    );
  });

  test("judgeImage rejects an arbitrary signed value instead of a claim", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(judgeImage([signed([alice])], image, [alice.sign(Buffer.from(text))])).toHaveProperty("refused");
      }),
    );
  });
});

describe("a public key", () => {
  const spki = (pair: { publicKey: KeyObject }): string => pair.publicKey.export({ type: "spki", format: "pem" }).toString();
  test.for<[what: string, pem: string, want: string]>([
    ["with a comment before it", `a key\n${alice.pem}`, ""],
    [
      "as older tools write RSA",
      generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "pkcs1", format: "pem" }).toString(),
      "",
    ],
    ["that is missing", "", "PEM block PUBLIC KEY not found"],
    [
      "that is private",
      generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      "PEM block PUBLIC KEY not found",
    ],
    ["that is invalid", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", ""],
    ["of an unsupported type", spki(generateKeyPairSync("x25519")), "key type x25519 is not supported"],
    ["on another curve", spki(generateKeyPairSync("ec", { namedCurve: "secp256k1" })), "curve secp256k1 is not supported"],
    ["that is too short", spki(generateKeyPairSync("rsa", { modulusLength: 1024 })), "RSA key is too short: 1024 bits, minimum 2048"],
  ])("%s", ([what, pem, want]) => {
    const parse = (): unknown => parsePublicKey(pem);
    if (want === "" && what !== "that is invalid") expect(parse()).toBeDefined();
    else expect(parse).toThrow(`parsing public key: ${want}`);
  });
});
