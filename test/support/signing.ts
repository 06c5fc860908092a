import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { MediaType } from "../../pkg/oci/manifest.ts";
import { EVIDENCE_ANNOTATIONS, formatSignatureTag, SIGNATURE_TYPE } from "../../pkg/oci/policy/attachments.ts";
import { SIGNATURE_ANNOTATION } from "../../pkg/oci/policy/judge.ts";
import { BUNDLE_TYPE, SIGNATURE_PREDICATE } from "../../pkg/oci/policy/signatureFormats.ts";
import { type PushedDescriptor, type PushTarget, withPusher } from "../../pkg/oci/publish/push.ts";
import { encodeSignedBytes, type FoundSignature } from "../../pkg/oci/signers/foundSignature.ts";

/** Media type of the bundles that cosign 3 writes. */
export const BUNDLE = `${BUNDLE_TYPE}.v0.3+json`;
const EMPTY = "application/vnd.oci.empty.v1+json";
/** Key types that cosign supports. */
export const KEY_KINDS = ["ECDSA P-256", "ECDSA P-384", "Ed25519", "RSA"] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** A key pair that signs images as cosign does. */
export class Signer {
  /** The public key, in the format of cosign.pub. */
  readonly pem: string;
  readonly #key: KeyObject;

  constructor(kind: KeyKind = "ECDSA P-256") {
    const { publicKey, privateKey } = createKeyPair(kind);
    this.pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    this.#key = privateKey;
  }

  /** Signs any payload. */
  sign(payload: Uint8Array): FoundSignature & { signature: string } {
    const algorithm = this.#key.asymmetricKeyType === "ed25519" ? null : "sha256";
    return { payload, signature: sign(algorithm, payload, this.#key).toString("base64") };
  }

  /** Signs a statement like cosign 3; `name` is the value of `-a docker-reference=`. */
  state(digest: string, name?: string, predicateType = SIGNATURE_PREDICATE): FoundSignature & { signature: string } {
    const annotations = name === undefined ? {} : { "docker-reference": name };
    const subject = [{ digest: { sha256: digest.replace("sha256:", "") }, annotations }];
    const statement = JSON.stringify({ _type: "https://in-toto.io/Statement/v1", subject, predicateType, predicate: {} });
    return this.stated(Buffer.from(statement));
  }

  /** Signs any statement. */
  stated(payload: Uint8Array): FoundSignature & { signature: string } {
    const { asymmetricKeyType, asymmetricKeyDetails: { namedCurve } = {} } = this.#key;
    const hash = namedCurve === "secp384r1" ? "sha384" : "sha256";
    const signature = sign(asymmetricKeyType === "ed25519" ? null : hash, encodeSignedBytes(payload), this.#key).toString("base64");
    return { payload, signature, isStatement: true };
  }

  /** Signs a manifest under a name, usually a repository. */
  claim(digest: string, reference: string): FoundSignature & { signature: string } {
    return this.sign(claimPayload(digest, reference));
  }
}

function createKeyPair(kind: KeyKind): { publicKey: KeyObject; privateKey: KeyObject } {
  if (kind === "Ed25519") return generateKeyPairSync("ed25519");
  if (kind === "RSA") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  return generateKeyPairSync("ec", { namedCurve: kind.slice("ECDSA ".length) });
}

/** Creates the bundle in which cosign 3 stores a statement. */
export function bundleOf({ payload, signature }: FoundSignature): object {
  const dsseEnvelope = {
    payload: Buffer.from(payload).toString("base64"),
    payloadType: "application/vnd.in-toto+json",
    signatures: [{ sig: signature }],
  };
  return { mediaType: BUNDLE, verificationMaterial: { publicKey: { hint: "a key" } }, dsseEnvelope };
}

/** Creates the payload that cosign signs for an image. */
export function claimPayload(digest: string, reference: string, type = "cosign container image signature"): Buffer {
  const critical = { identity: { "docker-reference": reference }, image: { "docker-manifest-digest": digest }, type };
  return Buffer.from(JSON.stringify({ critical, optional: null }));
}

/** Replaces the signatures of a manifest, in the location that cosign uses; the last is the newest. */
export async function pushSignatures(
  target: PushTarget,
  repository: string,
  digest: string,
  signatures: readonly FoundSignature[],
): Promise<void> {
  await withPusher(target, repository, async (pusher) => {
    const layers = [];
    for (const { payload, signature, attached = {} } of signatures) {
      const evidence = Object.entries(EVIDENCE_ANNOTATIONS).map(([member, name]) => [
        name,
        attached[member as keyof typeof EVIDENCE_ANNOTATIONS],
      ]);
      const all = Object.fromEntries([[SIGNATURE_ANNOTATION, signature], ...evidence]) as Record<string, string | undefined>;
      const annotations = Object.fromEntries(Object.entries(all).filter(([, text]) => text !== undefined));
      layers.push({ ...(await pusher.blob(payload, SIGNATURE_TYPE)), annotations });
    }
    const config = await pusher.blob(
      Buffer.from('{"architecture":"","os":"","rootfs":{"type":"layers","diff_ids":[]}}'),
      MediaType.ociConfig,
    );
    const manifest = { schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers };
    return pusher.manifest(formatSignatureTag(digest), manifest);
  });
}

/** Attaches a bundle to a manifest, as cosign 3 does. Replaces the list of referrers in registries without a referrers endpoint. */
export async function pushBundle(target: PushTarget, repository: string, subject: PushedDescriptor, bundle: object): Promise<void> {
  await withPusher(target, repository, async (pusher) => {
    const layer = await pusher.blob(Buffer.from(JSON.stringify(bundle)), BUNDLE);
    const config = await pusher.blob(Buffer.from("{}"), EMPTY);
    const manifest = { schemaVersion: 2, mediaType: MediaType.ociManifest, artifactType: BUNDLE, config, layers: [layer], subject };
    const referrer = { ...(await pusher.manifest("bundle", manifest)), artifactType: BUNDLE };
    const index = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests: [referrer] };
    return pusher.manifest(subject.digest.replace(":", "-"), index);
  });
}

/** Creates a policy.json that accepts images that one of these keys signed for their repository; `scopes` are further requirements. */
export function signedBy(keys: readonly Signer[], scopes: Record<string, object[]> = {}): string {
  const keyDatas = keys.map(({ pem }) => Buffer.from(pem).toString("base64"));
  const signed = { type: "sigstoreSigned", keyDatas, signedIdentity: { type: "matchRepository" } };
  return JSON.stringify({ default: [signed], transports: { docker: scopes } });
}
