import { ExpandableSection } from "@patternfly/react-core";
import { type ReactElement, useEffect, useState } from "react";
import type { WatchState } from "../../../pkg/consoleapi/live.ts";
import { Alert } from "../components/Alert.tsx";
import { RelativeTime } from "../components/RelativeTime.tsx";
import { text } from "../text/en.ts";
import { useLive, useSession } from "./consoleState.tsx";
import { SignedOut } from "./LoginPage.tsx";

/** Time before a lost connection is reported, in milliseconds: most interruptions are shorter. */
const QUIET_MS = 1_500;

/** Says that the page is out of date, and why. */
export function ConnectionBanner(): ReactElement | null {
  const { stream, problem, watches } = useLive();
  const isLost = useDelayed(stream === "lost", QUIET_MS);
  if (stream === "signedOut") return <SignedOut problem={problem ?? { kind: "signedOut", message: text.login.signedOut }} />;
  if (isLost) return <Alert status="warning" title={text.connection.consoleLost} component="p" />;
  const failed = [watches.extensions, watches.catalogs].find(({ state }) => state === "disconnected");
  if (failed) return <ClusterLost watch={failed} isLoaded={[watches.extensions, watches.catalogs].some((one) => one.isLoaded)} />;
  if (watches.extensions.state === "missing") return <Alert status="danger" title={text.connection.missing} component="p" />;
  const forbidden = [
    watches.extensions.state === "forbidden" ? text.connection.forbiddenExtensions : undefined,
    watches.catalogs.state === "forbidden" ? text.connection.forbiddenCatalogs : undefined,
  ].filter((one) => one !== undefined);
  if (forbidden.length === 0) return null;
  return (
    <Alert status="warning" title={forbidden.join(" ")} component="p">
      <p className="olm-break">{watches.extensions.message ?? watches.catalogs.message}</p>
    </Alert>
  );
}

/** Says why the console cannot read from the cluster, since when, and whether the page shows an earlier state. */
function ClusterLost({
  watch: { failure = "errors", since, message },
  isLoaded,
}: {
  readonly watch: WatchState;
  readonly isLoaded: boolean;
}): ReactElement {
  const { server } = useSession();
  const host = URL.canParse(server) ? new URL(server).host : server;
  return (
    <Alert status="warning" title={text.connection.failures[failure](host)} component="p">
      <p>
        {isLoaded ? text.connection.showsEarlier : text.connection.showsNothing}{" "}
        {text.connection.since(new Date(since).toLocaleTimeString())} (<RelativeTime time={since} />
        ).
      </p>
      <ExpandableSection toggleText={text.common.details}>
        <p className="olm-break" dir="auto">
          {message}
        </p>
      </ExpandableSection>
    </Alert>
  );
}

/** Returns true once `value` has been true for a time. */
function useDelayed(value: boolean, ms: number): boolean {
  const [isPast, setPast] = useState(false);
  useEffect(() => {
    if (!value) return undefined;
    const timer = setTimeout(() => setPast(true), ms);
    return () => {
      clearTimeout(timer);
      setPast(false);
    };
  }, [value, ms]);
  return value && isPast;
}
