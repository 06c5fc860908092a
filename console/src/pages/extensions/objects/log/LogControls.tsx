import { Badge, Button, Checkbox, FormSelect, FormSelectOption, Switch } from "@patternfly/react-core";
import { AngleDownIcon, AngleUpIcon, DownloadIcon } from "@patternfly/react-icons";
import type { ReactElement } from "react";
import type { ContainerRow } from "../../../../../../pkg/consoleapi/objects.ts";
import { CopyButton } from "../../../../components/CommandLine.tsx";
import { SearchField } from "../../../../components/SearchField.tsx";
import { objectsText } from "../../../../text/objects.ts";
import { MAX_LINES } from "./logBuffer.ts";

const t = objectsText.logs;
const TAILS = [100, 1_000, MAX_LINES] as const;

/** Choice of the log, search, and what to do with it. */
export function LogControls({
  fileName,
  containers,
  container,
  onContainer,
  isPrevious,
  onPrevious,
  tail,
  onTail,
  isFollowing,
  onFollow,
  isWrapped,
  onWrap,
  search: { text, at, count },
  onSearch,
  onMatch,
  lines,
}: {
  readonly fileName: string;
  readonly containers: readonly ContainerRow[];
  readonly container: ContainerRow;
  readonly onContainer: (name: string) => void;
  readonly isPrevious: boolean;
  readonly onPrevious: (is: boolean) => void;
  readonly tail: number;
  readonly onTail: (tail: number) => void;
  readonly isFollowing: boolean;
  readonly onFollow: (is: boolean) => void;
  readonly isWrapped: boolean;
  readonly onWrap: (is: boolean) => void;
  readonly search: { readonly text: string; readonly at: number; readonly count: number };
  readonly onSearch: (text: string) => void;
  /** Shows the next or previous match. */
  readonly onMatch: (step: 1 | -1) => void;
  readonly lines: readonly string[];
}): ReactElement {
  return (
    <>
      <div className="olm-log-controls">
        <FormSelect
          className="olm-log-select"
          aria-label={t.container}
          value={container.name}
          onChange={(_event, name) => onContainer(name)}
        >
          {containers.map(({ name, state }) => (
            <FormSelectOption key={name} value={name} label={`${name} (${state.text})`} />
          ))}
        </FormSelect>
        <FormSelect className="olm-log-tail" aria-label={t.tail} value={tail} onChange={(_event, value) => onTail(Number(value))}>
          {TAILS.map((one) => (
            <FormSelectOption key={one} value={one} label={`${one.toLocaleString()} ${t.tail.toLowerCase()}`} />
          ))}
        </FormSelect>
        <Switch
          id="log-follow"
          label={t.follow}
          isChecked={isFollowing && !isPrevious}
          isDisabled={isPrevious}
          onChange={(_event, is) => onFollow(is)}
        />
        <Checkbox
          id="log-previous"
          label={t.previous}
          isChecked={isPrevious}
          isDisabled={!container.hasPrevious && !isPrevious}
          onChange={(_event, is) => onPrevious(is)}
        />
        <Checkbox id="log-wrap" label={t.wrap} isChecked={isWrapped} onChange={(_event, is) => onWrap(is)} />
      </div>
      <div className="olm-log-controls">
        <SearchField label={t.search} value={text} onChange={onSearch} onEnter={(isShifted) => onMatch(isShifted ? -1 : 1)}>
          {text !== "" && <Badge isRead>{t.matches(count === 0 ? 0 : at + 1, count)}</Badge>}
          <Button variant="plain" icon={<AngleUpIcon />} aria-label={t.previousMatch} onClick={() => onMatch(-1)} />
          <Button variant="plain" icon={<AngleDownIcon />} aria-label={t.next} onClick={() => onMatch(1)} />
        </SearchField>
        <CopyButton value={lines.join("\n")} label={t.copy} />
        <Button variant="plain" size="sm" icon={<DownloadIcon />} aria-label={t.download} onClick={() => download(fileName, lines)} />
      </div>
    </>
  );
}

function download(fileName: string, lines: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([lines.join("\n"), "\n"], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
