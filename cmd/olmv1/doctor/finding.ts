/** How a check came out; `unknown`: you may not see what it takes. */
export type FindingStatus = "ok" | "warning" | "problem" | "unknown";

/** What one check found. */
export interface Finding {
  /** What was looked at, such as `Deployment catalogd-controller-manager`. */
  readonly check: string;
  readonly status: FindingStatus;
  readonly message: string;
  /** What to do next; commands as they are typed. */
  readonly next?: string;
}

/** What was read of the cluster, or why it could not be. */
export type Answer<T> = { readonly value: T } | { readonly refused: string };

/** The findings about something that was read; one finding where it could not be. */
export function about<T>(check: string, answer: Answer<T>, judge: (value: T) => Finding[]): Finding[] {
  if ("value" in answer) return judge(answer.value);
  return [{ check, status: "unknown", message: `cannot check: ${answer.refused}`, next: "ask a cluster administrator" }];
}
