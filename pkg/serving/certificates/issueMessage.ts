/** What the thread that issues certificates is to make. */
export interface IssueTask {
  /** Names the authority and the certificate; cut to the 64 characters that X.509 has room for. */
  readonly host: string;
  readonly dnsNames: readonly string[];
  /** From when to when both hold, in milliseconds since the epoch. */
  readonly startsAt: number;
  readonly endsAt: number;
}

/** An authority and one certificate of it, PEM. The authority's key is gone: nobody can make another certificate of it. */
export interface IssuedCertificate {
  readonly authority: string;
  readonly certificate: string;
  /** PKCS #8. */
  readonly key: string;
}
