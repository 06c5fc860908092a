import { Button, Spinner } from "@patternfly/react-core";
import { type ReactElement, useEffect, useState } from "react";

const TICK_MS = 1_000;

/** Progress of long work: what happens, for how long, and a button that cancels it. */
export function Elapsed({
  title,
  note,
  formatSeconds,
  cancelLabel,
  onCancel,
}: {
  readonly title: string;
  readonly note: string;
  readonly formatSeconds: (seconds: number) => string;
  readonly cancelLabel: string;
  readonly onCancel: () => void;
}): ReactElement {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const started = Date.now();
    const timer = setInterval(() => setSeconds(Math.round((Date.now() - started) / TICK_MS)), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div className="olm-elapsed" aria-busy="true">
      <Spinner size="lg" aria-hidden="true" />
      <div>
        <p role="status">
          <strong>{title}</strong>
        </p>
        <p className="olm-subtle">{note}</p>
        <p>
          <span className="olm-elapsed-seconds">{formatSeconds(seconds)}</span>
          <Button variant="link" isInline onClick={onCancel}>
            {cancelLabel}
          </Button>
        </p>
      </div>
    </div>
  );
}
