import { type ReactElement, useEffect, useState } from "react";
import { Alert } from "../components/Alert.tsx";
import { RelativeTime } from "../components/RelativeTime.tsx";
import { text } from "../text/en.ts";
import { useLive } from "./consoleState.tsx";
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
  if (failed) {
    return (
      <Alert status="warning" title={text.connection.clusterLost} component="p">
        <p>
          {text.connection.since} <RelativeTime time={failed.since} />
        </p>
        <p className="olm-break">{failed.message}</p>
      </Alert>
    );
  }
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
