import { ClipboardCopyButton, CodeBlock, CodeBlockAction, CodeBlockCode } from "@patternfly/react-core";
import { type ReactElement, useId, useState } from "react";
import { text } from "../text/en.ts";

/** A text of several lines to copy, such as YAML. */
export function YamlBlock({ yaml, label }: { readonly yaml: string; readonly label: string }): ReactElement {
  const id = useId();
  const [isCopied, setCopied] = useState(false);
  return (
    <CodeBlock
      className="olm-yaml"
      actions={
        <CodeBlockAction>
          <ClipboardCopyButton
            id={`${id}-copy`}
            textId={id}
            aria-label={`${text.common.copy}: ${label}`}
            onClick={() => {
              void navigator.clipboard.writeText(yaml).then(() => setCopied(true));
            }}
            onTooltipHidden={() => setCopied(false)}
            variant="plain"
          >
            {isCopied ? text.common.copied : text.common.copy}
          </ClipboardCopyButton>
        </CodeBlockAction>
      }
    >
      <CodeBlockCode id={id} tabIndex={0} aria-label={label} role="region">
        {yaml}
      </CodeBlockCode>
    </CodeBlock>
  );
}
