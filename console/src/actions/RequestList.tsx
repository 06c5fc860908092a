import {
  ClipboardCopyButton,
  CodeBlock,
  CodeBlockAction,
  CodeBlockCode,
  ExpandableSection,
  Label,
  ToggleGroup,
  ToggleGroupItem,
} from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import type { PreparedRequest } from "../../../pkg/consoleapi/actions.ts";
import { actionsText as text } from "../text/actions.ts";
import { text as common } from "../text/en.ts";

/** The requests of a change, exactly as the console sends them, with the results of their dry runs. */
export function RequestList({
  requests,
  isTried,
}: {
  readonly requests: readonly PreparedRequest[];
  readonly isTried: boolean;
}): ReactElement {
  const [isRaw, setRaw] = useState(false);
  return (
    <ExpandableSection toggleText={text.requests(requests.length)} isIndented>
      <div className="olm-requests-head">
        <p>{text.requestsNote}</p>
        <ToggleGroup aria-label={text.view} isCompact>
          <ToggleGroupItem text={text.pretty} isSelected={!isRaw} onChange={() => setRaw(false)} />
          <ToggleGroupItem text={text.raw} isSelected={isRaw} onChange={() => setRaw(true)} />
        </ToggleGroup>
      </div>
      <ol className="olm-requests">
        {requests.map((request) => (
          <li key={`${request.method} ${request.path}`}>
            <Request request={request} isRaw={isRaw} isTried={isTried} />
          </li>
        ))}
      </ol>
    </ExpandableSection>
  );
}

function Request({
  request: { method, path, contentType, body, description, dryRun },
  isRaw,
  isTried,
}: {
  readonly request: PreparedRequest;
  readonly isRaw: boolean;
  readonly isTried: boolean;
}): ReactElement {
  const note = isTried ? text.notTried : text.notSent;
  return (
    <>
      <p className="olm-break">{description}</p>
      {body !== undefined && (
        <CodeBlock
          actions={
            <CodeBlockAction>
              <CopyBody body={body} label={`${common.common.copy}: ${description}`} />
            </CodeBlockAction>
          }
        >
          <div className="olm-request-body" tabIndex={0} role="region" aria-label={text.body(description)}>
            <CodeBlockCode>{`${method} ${path}\n${contentType === undefined ? "" : `Content-Type: ${contentType}\n`}\n${isRaw ? body : format(body)}`}</CodeBlockCode>
          </div>
        </CodeBlock>
      )}
      <p className="olm-request-result olm-break">
        {dryRun ? (
          <>
            <Label isCompact status={dryRun.isOk ? "success" : "danger"}>
              {dryRun.message}
            </Label>
            {dryRun.warnings.map((warning) => (
              <Label key={warning} isCompact status="warning">
                {warning}
              </Label>
            ))}
          </>
        ) : (
          note
        )}
      </p>
    </>
  );
}

function CopyBody({ body, label }: { readonly body: string; readonly label: string }): ReactElement {
  const [isCopied, setCopied] = useState(false);
  return (
    <ClipboardCopyButton
      id={`copy-${label}`}
      aria-label={label}
      variant="plain"
      onClick={() => void navigator.clipboard.writeText(body).then(() => setCopied(true))}
      onTooltipHidden={() => setCopied(false)}
    >
      {isCopied ? common.common.copied : common.common.copy}
    </ClipboardCopyButton>
  );
}

function format(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
