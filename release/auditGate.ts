import { z } from "zod";

/** The parts of `npm audit --json` that the gate reads. @see https://docs.npmjs.com/cli/v11/commands/npm-audit */
const AuditReport = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.enum(["info", "low", "moderate", "high", "critical"]),
      /** Folders of the affected versions. */
      nodes: z.array(z.string()),
      via: z.array(z.union([z.string(), z.object({ url: z.string(), title: z.string(), severity: z.string() })])),
    }),
  ),
});

/** An advisory that does not fail the gate until it expires. */
const AuditException = z.strictObject({
  /** Id of the advisory, such as "GHSA-xxxx-xxxx-xxxx". */
  advisory: z.string().regex(/^GHSA(-[0-9a-z]{4}){3}$/),
  /** Why the advisory does not affect olmv1. */
  reason: z.string().min(20),
  /** Last day on which the exception applies, such as "2026-12-31". */
  expires: z.iso.date(),
});

/** The content of audit-exceptions.yaml. */
export const AuditExceptions = z.strictObject({ exceptions: z.array(AuditException) });
export type AuditExceptions = z.infer<typeof AuditExceptions>;

/** The result of the gate. */
export interface AuditVerdict {
  /** One line for each finding that fails the gate. */
  readonly failures: readonly string[];
  /** Exceptions that no advisory needs any more. */
  readonly unused: readonly string[];
}

/**
 * Compares the advisories in a report with the exceptions. Every advisory of a package that a release may contain fails the gate unless an exception
 * names it that has not expired.
 * @param shipped folders of the packages that a release may contain, from `listShippedFolders`
 * @param today such as "2026-11-26"
 * @throws Error if the report is not a report of npm audit, for example because the registry did not respond with one.
 */
export function judgeAudit(report: unknown, { exceptions }: AuditExceptions, today: string, shipped: ReadonlySet<string>): AuditVerdict {
  const parsed = AuditReport.safeParse(report);
  if (!parsed.success) throw new Error("npm audit printed no report. Run it with a registry that serves security advisories");
  const advisories = new Map(
    Object.entries(parsed.data.vulnerabilities)
      .filter(([, { nodes }]) => nodes.some((folder) => shipped.has(folder)))
      .flatMap(([name, { via }]) =>
        via.flatMap((one) =>
          typeof one === "string" ? [] : [[getId(one.url), `${name}: ${one.title} (${one.severity}, ${one.url})`] as const],
        ),
      ),
  );
  const byId = new Map(exceptions.map((one) => [one.advisory, one]));
  const failures = [...advisories].flatMap(([id, text]) => {
    const expires = byId.get(id)?.expires;
    if (expires === undefined) return [text];
    return expires < today ? [`${text}: its exception expired on ${expires}`] : [];
  });
  return { failures: failures.toSorted(), unused: [...byId.keys()].filter((id) => !advisories.has(id)) };
}

function getId(url: string): string {
  return url.slice(url.lastIndexOf("/") + 1);
}
