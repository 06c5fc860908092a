import { Fragment, type ReactElement, type ReactNode } from "react";
import type { WhyVersion } from "../../../../../pkg/consoleapi/why.ts";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { whyText } from "../../../text/why.ts";
import { VersionIcon } from "./VersionIcon.tsx";

const t = whyText.versions;

/** All versions as a table; on a phone, each row is a block. */
export function VersionList({
  versions,
  selected,
  onSelect,
  details,
}: {
  readonly versions: readonly WhyVersion[];
  readonly selected: WhyVersion | undefined;
  readonly onSelect: (version: WhyVersion) => void;
  /** The details of the selected version, below its row; absent if they are elsewhere. */
  readonly details?: ReactNode;
}): ReactElement {
  return (
    <table className="olm-versions" role="table" aria-label={t.listLabel}>
      <thead role="rowgroup">
        <tr role="row">
          {Object.values(t.columns).map((label) => (
            <th key={label} role="columnheader" scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {versions.map((version) => {
          const isSelected = version === selected;
          return (
            <Fragment key={`${version.catalog} ${version.bundle}`}>
              <VersionRow version={version} isSelected={isSelected} onSelect={() => onSelect(version)} />
              {isSelected && details !== undefined && (
                <tr role="row" className="olm-versions-details">
                  <td role="cell" colSpan={4}>
                    {details}
                  </td>
                </tr>
              )}
            </Fragment>
          );
        })}
      </tbody>
    </table>
  );
}

function VersionRow({
  version: { version, bundle, state, label, channels, reason, deprecated, isInstalled },
  isSelected,
  onSelect,
}: {
  readonly version: WhyVersion;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}): ReactElement {
  const marks = [...(isInstalled ? [t.installedMark] : []), ...(deprecated === undefined ? [] : [t.deprecatedMark])];
  return (
    <tr role="row" className={isSelected ? "olm-versions-selected" : undefined}>
      <td role="cell">
        <button type="button" className="olm-versions-name olm-break" aria-pressed={isSelected} onClick={onSelect}>
          <VersionIcon state={state} className={`olm-graph-${state}`} />
          <bdi>{version ?? bundle}</bdi>
        </button>
        {marks.length > 0 && <span className="olm-subtle"> {marks.join(", ")}</span>}
      </td>
      <td role="cell">
        <StateLabel state={label} />
      </td>
      <td role="cell" className="olm-break">
        <bdi>{channels.join(", ")}</bdi>
      </td>
      <td role="cell" className="olm-break" dir="auto">
        {reason}
      </td>
    </tr>
  );
}
