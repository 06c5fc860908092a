import { Button } from "@patternfly/react-core";
import { CheckIcon, CopyIcon } from "@patternfly/react-icons";
import { type ReactElement, useEffect, useState } from "react";
import { text } from "../text/en.ts";
import { HoverText } from "./HoverText.tsx";

const FEEDBACK_MS = 1_500;

/** A command or other text with a button that copies it. Long texts wrap. */
export function CommandLine({ command, label }: { readonly command: string; readonly label: string }): ReactElement {
  return (
    <div className="olm-command" role="group" aria-label={label}>
      <code className="olm-break" dir="auto">
        {command}
      </code>
      <CopyButton value={command} />
    </div>
  );
}

/** A button that copies a text to the clipboard, and says so. */
export function CopyButton({ value, label = text.common.copy }: { readonly value: string; readonly label?: string }): ReactElement {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (): void => {
    void navigator.clipboard.writeText(value).then(() => setCopied(true));
  };
  return (
    <HoverText content={isCopied ? text.common.copied : label}>
      <Button
        variant="plain"
        size="sm"
        icon={isCopied ? <CheckIcon /> : <CopyIcon />}
        aria-label={isCopied ? text.common.copied : label}
        onClick={copy}
      />
    </HoverText>
  );
}
