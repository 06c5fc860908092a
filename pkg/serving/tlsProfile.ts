import type { SecureVersion } from "node:tls";

/** TLS versions, ciphers and curves that a server accepts, by the names used in flags, in order of preference. */
export interface TlsProfile {
  /** Minimum version, a key of `TLS_VERSIONS`. */
  minVersion: TlsVersion;
  /** IANA names of cipher suites. */
  ciphers: readonly string[];
  /** Key exchange groups, as in `TLS_CURVES`. */
  curves: readonly string[];
}

/** The settings of profile `custom` from the flags; an empty list counts as not set. */
export type CustomProfile = TlsProfile;

/** A profile in the names of Node and OpenSSL. */
export interface TlsSettings {
  minVersion: SecureVersion;
  ciphers: string;
  ecdhCurve: string;
}

/** Versions of TLS by flag value, oldest first, with Node's names. */
export const TLS_VERSIONS = { "TLSv1.0": "TLSv1", "TLSv1.1": "TLSv1.1", "TLSv1.2": "TLSv1.2", "TLSv1.3": "TLSv1.3" } as const;
/** Flag value of a TLS version. */
export type TlsVersion = keyof typeof TLS_VERSIONS;

/**
 * Key exchange groups by flag value (names from Mozilla and IANA), with OpenSSL's names. The hybrid
 * groups require TLS 1.3.
 */
export const TLS_CURVES: ReadonlyMap<string, string> = new Map([
  ["X25519", "X25519"],
  ["x25519", "X25519"],
  ["prime256v1", "prime256v1"],
  ["secp256r1", "prime256v1"],
  ["secp384r1", "secp384r1"],
  ["secp521r1", "secp521r1"],
  ["X25519MLKEM768", "X25519MLKEM768"],
  ["SecP256r1MLKEM768", "SecP256r1MLKEM768"],
  ["SecP384r1MLKEM1024", "SecP384r1MLKEM1024"],
]);

const TLS13_CIPHERS = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"] as const;

/** Cipher suites for TLS versions before 1.3 that Go supports, by IANA name, with OpenSSL's names. */
const OLDER_CIPHERS: ReadonlyMap<string, string> = new Map([
  ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"],
  // The names of Go's constants.
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"],
  ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"],
  ["TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"],
  ["TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"],
  ["TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"],
  ["TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"],
  ["TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"],
  ["TLS_RSA_WITH_3DES_EDE_CBC_SHA", "DES-CBC3-SHA"],
  ["TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA-DES-CBC3-SHA"],
  ["TLS_RSA_WITH_RC4_128_SHA", "RC4-SHA"],
  ["TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "ECDHE-ECDSA-RC4-SHA"],
  ["TLS_ECDHE_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-RC4-SHA"],
]);

const CURVES = ["X25519MLKEM768", "X25519", "prime256v1", "secp384r1"] as const;
const INTERMEDIATE_CIPHERS = [
  ...TLS13_CIPHERS,
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
] as const;
const OLD_CIPHERS = [
  ...INTERMEDIATE_CIPHERS,
  "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
  "TLS_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_RSA_WITH_AES_128_CBC_SHA256",
  "TLS_RSA_WITH_AES_128_CBC_SHA",
  "TLS_RSA_WITH_AES_256_CBC_SHA",
] as const;

/**
 * Mozilla's recommendations, version 5.7, with the post-quantum hybrid group first, as in version
 * 5.8. Excludes 3DES and suites that require Diffie-Hellman parameters.
 * @see https://wiki.mozilla.org/Security/Server_Side_TLS
 */
const PROFILES: ReadonlyMap<string, TlsProfile> = new Map([
  ["modern", { minVersion: "TLSv1.3", ciphers: TLS13_CIPHERS, curves: CURVES }],
  ["intermediate", { minVersion: "TLSv1.2", ciphers: INTERMEDIATE_CIPHERS, curves: CURVES }],
  ["old", { minVersion: "TLSv1.0", ciphers: OLD_CIPHERS, curves: CURVES }],
]);

/** Returns whether a cipher suite with this IANA name is known; OpenSSL may no longer support it. */
export function isKnownCipher(name: string): boolean {
  return OLDER_CIPHERS.has(name) || TLS13_CIPHERS.some((known) => known === name);
}

/**
 * Converts OpenSSL's names of cipher suites to IANA names, in order; omits those that Go does not
 * support.
 */
export function withOpensslNames(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    if (TLS13_CIPHERS.some((known) => known === name)) return [name];
    const found = [...OLDER_CIPHERS].find(([, openssl]) => openssl === name);
    return found ? [found[0]] : [];
  });
}

/** Returns whether `getTlsProfile` knows a profile with this name; case-insensitive. */
export function isKnownProfile(name: string): boolean {
  return name.toLowerCase() === "custom" || PROFILES.has(name.toLowerCase());
}

/**
 * Returns a profile by its case-insensitive name. `custom` is used only for "custom"; a list that
 * it does not contain comes from profile "intermediate", or from "old" if the minimum version is
 * below TLS 1.2.
 * @throws Error `unknown TLS profile: "x"`
 */
export function getTlsProfile(name: string, custom: CustomProfile): TlsProfile {
  const { minVersion, ciphers, curves } = custom;
  const isOlder = minVersion === "TLSv1.0" || minVersion === "TLSv1.1";
  const profile = PROFILES.get(name.toLowerCase());
  if (profile) return profile;
  if (!isKnownProfile(name)) throw new Error(`unknown TLS profile: ${JSON.stringify(name)}`);
  return {
    minVersion,
    ciphers: ciphers.length > 0 ? ciphers : isOlder ? OLD_CIPHERS : INTERMEDIATE_CIPHERS,
    curves: curves.length > 0 ? curves : CURVES,
  };
}

/**
 * Returns Node's settings for a profile, and the cipher suites that OpenSSL no longer supports. As
 * in Go, TLS 1.3 uses all its suites if the profile contains none of them, because otherwise TLS
 * 1.3 would be disabled.
 * @param available lower-case names of OpenSSL's cipher suites, as `getCiphers` lists them.
 */
export function computeTlsSettings(profile: TlsProfile, available: ReadonlySet<string>): { settings: TlsSettings; missing: string[] } {
  const newer = profile.ciphers.filter((name) => !OLDER_CIPHERS.has(name));
  const older = profile.ciphers.flatMap((name) => {
    const openssl = OLDER_CIPHERS.get(name);
    return openssl === undefined ? [] : [{ name, openssl }];
  });
  const has = ({ openssl }: { openssl: string }): boolean => available.has(openssl.toLowerCase());
  // OpenSSL allows SHA-1, which TLS versions below 1.2 use for signatures, only at this security
  // level.
  const level = profile.minVersion === "TLSv1.0" || profile.minVersion === "TLSv1.1" ? ["@SECLEVEL=0"] : [];
  const ciphers = [...(newer.length > 0 ? newer : TLS13_CIPHERS), ...older.filter(has).map(({ openssl }) => openssl), ...level];
  const curves = profile.curves.map((name) => TLS_CURVES.get(name) ?? name);
  return {
    settings: { minVersion: TLS_VERSIONS[profile.minVersion], ciphers: ciphers.join(":"), ecdhCurve: [...new Set(curves)].join(":") },
    missing: older.filter((cipher) => !has(cipher)).map(({ name }) => name),
  };
}

/** Returns the settings for clients that read catalogs. They require TLS 1.2 or later with any profile. */
export function toClientSettings(settings: TlsSettings): TlsSettings {
  return settings.minVersion === "TLSv1.3" ? settings : { ...settings, minVersion: "TLSv1.2" };
}
