import { createSecureContext, getCiphers } from "node:tls";
import { describe, expect, test } from "vitest";
import {
  type CustomProfile,
  computeTlsSettings,
  getTlsProfile,
  isKnownCipher,
  isKnownProfile,
  TLS_CURVES,
  toClientSettings,
} from "./tlsProfile.ts";

const NONE: CustomProfile = { minVersion: "TLSv1.2", ciphers: [], curves: [] };
const TLS13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
const AEAD =
  "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:" +
  "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
const CBC =
  "ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:" +
  "AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES128-SHA:AES256-SHA";
const GROUPS = "X25519MLKEM768:X25519:prime256v1:secp384r1";
const available = new Set(getCiphers());

interface Row {
  profile: string;
  custom?: Partial<CustomProfile>;
  minVersion: string;
  ciphers: string;
  ecdhCurve?: string;
  missing?: string[];
}

// Source: I-30; the lists are Mozilla's.
const ROWS: Row[] = [
  { profile: "modern", minVersion: "TLSv1.3", ciphers: TLS13 },
  { profile: "intermediate", minVersion: "TLSv1.2", ciphers: `${TLS13}:${AEAD}` },
  { profile: "Intermediate", minVersion: "TLSv1.2", ciphers: `${TLS13}:${AEAD}` },
  { profile: "old", minVersion: "TLSv1", ciphers: `${TLS13}:${AEAD}:${CBC}:@SECLEVEL=0` },
  { profile: "modern", custom: { minVersion: "TLSv1.0", curves: ["secp521r1"] }, minVersion: "TLSv1.3", ciphers: TLS13 },
  { profile: "custom", minVersion: "TLSv1.2", ciphers: `${TLS13}:${AEAD}` },
  { profile: "custom", custom: { minVersion: "TLSv1.3" }, minVersion: "TLSv1.3", ciphers: `${TLS13}:${AEAD}` },
  { profile: "custom", custom: { minVersion: "TLSv1.1" }, minVersion: "TLSv1.1", ciphers: `${TLS13}:${AEAD}:${CBC}:@SECLEVEL=0` },
  {
    profile: "custom",
    custom: { ciphers: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"], curves: ["secp256r1", "prime256v1", "x25519"] },
    minVersion: "TLSv1.2",
    ciphers: `${TLS13}:ECDHE-ECDSA-AES128-GCM-SHA256`,
    ecdhCurve: "prime256v1:X25519",
  },
  {
    profile: "custom",
    custom: { ciphers: ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_AES_256_GCM_SHA384"], curves: ["SecP256r1MLKEM768"] },
    minVersion: "TLSv1.2",
    ciphers: "TLS_AES_256_GCM_SHA384:ECDHE-RSA-CHACHA20-POLY1305",
    ecdhCurve: "SecP256r1MLKEM768",
  },
  {
    profile: "custom",
    custom: { ciphers: ["TLS_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_RC4_128_SHA"] },
    minVersion: "TLSv1.2",
    ciphers: `${TLS13}:AES128-SHA`,
    missing: ["TLS_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_RC4_128_SHA"],
  },
];

describe("OpenSSL settings", () => {
  test.for(ROWS)(
    "computeTlsSettings converts profile $profile with $custom",
    ({ profile, custom, minVersion, ciphers, ecdhCurve = GROUPS, missing = [] }) => {
      const nodeSettings = computeTlsSettings(getTlsProfile(profile, { ...NONE, ...custom }), available);
      expect(nodeSettings).toEqual({ settings: { minVersion, ciphers, ecdhCurve }, missing });
      expect(() => createSecureContext(nodeSettings.settings)).not.toThrow();
    },
  );

  test.for([...TLS_CURVES.keys()])("OpenSSL supports curve %s", (curve) => {
    const { settings } = computeTlsSettings(getTlsProfile("custom", { ...NONE, curves: [curve] }), available);
    expect(() => createSecureContext(settings)).not.toThrow();
  });
});

test("getTlsProfile rejects an unknown profile", () => {
  expect(isKnownProfile("paranoid")).toBe(false);
  expect(() => getTlsProfile("paranoid", NONE)).toThrow('unknown TLS profile: "paranoid"');
});

test.for([
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", true],
  ["TLS_RSA_WITH_3DES_EDE_CBC_SHA", true],
  ["TLS_CHACHA20_POLY1305_SHA256", true],
  ["DHE-RSA-AES128-SHA256", false],
  ["TLS_AES_128_CCM_SHA256", false],
  ["", false],
] as const)("isKnownCipher of %j is %s", ([name, known]) => {
  expect(isKnownCipher(name)).toBe(known);
});

test.for([
  ["old", "TLSv1.2"],
  ["intermediate", "TLSv1.2"],
  ["modern", "TLSv1.3"],
] as const)("a client with profile %s requires %s or later", ([name, minVersion]) => {
  expect(toClientSettings(computeTlsSettings(getTlsProfile(name, NONE), available).settings).minVersion).toBe(minVersion);
});
