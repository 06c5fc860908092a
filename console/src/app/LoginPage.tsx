import { EmptyState, EmptyStateBody } from "@patternfly/react-core";
import { LockIcon } from "@patternfly/react-icons";
import { type ReactElement, useEffect, useState } from "react";
import type { ConsoleProblem } from "../../../pkg/consoleapi/problem.ts";
import { LoggedIn } from "../../../pkg/consoleapi/session.ts";
import { postJson, RequestError, storeToken } from "../api/request.ts";
import { text } from "../text/en.ts";

/** The login token in the fragment of the address, which browsers do not send to servers. Read once, because React may mount the page twice. */
const loginToken = location.hash.slice(1);
let login: Promise<{ token: string }> | undefined;

/** Exchanges the login token in the address for a session, and opens the start page. */
export function LoginPage(): ReactElement {
  const [problem, setProblem] = useState<ConsoleProblem>();
  useEffect(() => {
    history.replaceState(null, "", "/login");
    login ??= postJson("/api/login", { token: loginToken }, LoggedIn);
    login.then(
      ({ token }) => {
        storeToken(token);
        location.replace("/");
      },
      (err: unknown) => setProblem(err instanceof RequestError ? err.problem : { kind: "failed", message: String(err) }),
    );
  }, []);
  if (problem) return <SignedOut problem={problem} />;
  return <EmptyState headingLevel="h1" titleText={text.login.working} />;
}

/** Says that the browser has no session, and how to get one. */
export function SignedOut({ problem }: { readonly problem: ConsoleProblem }): ReactElement {
  return (
    <EmptyState headingLevel="h1" titleText={text.login.signedOut} icon={LockIcon}>
      <EmptyStateBody>
        <p>{problem.message}</p>
        <p>{problem.next ?? text.login.signedOutNext}</p>
      </EmptyStateBody>
    </EmptyState>
  );
}
