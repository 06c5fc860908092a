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
    <table className="olm-versions" aria-label={t.listLabel}>
      <thead>
        <tr>
          {Object.values(t.columns).map((label) => (
            <th key={label} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {versions.map((version) => {
          const isSelected = version === selected;
          return (
            <Fragment key={`${version.catalog} ${version.bundle}`}>
              <VersionRow version={version} isSelected={isSelected} onSelect={() => onSelect(version)} />
              {isSelected && details !== undefined && (
                <tr className="olm-versions-details">
                  <td colSpan={4}>{details}</td>
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
    <tr className={isSelected ? "olm-versions-selected" : undefined}>
      <td>
        <button type="button" className="olm-versions-name olm-break" aria-pressed={isSelected} onClick={onSelect}>
          <VersionIcon state={state} className={`olm-graph-${state}`} />
          <bdi>{version ?? bundle}</bdi>
        </button>
        {marks.length > 0 && <span className="olm-subtle"> {marks.join(", ")}</span>}
      </td>
      <td>
        <StateLabel state={label} />
      </td>
      <td className="olm-break">
        <bdi>{channels.join(", ")}</bdi>
      </td>
      <td className="olm-break" dir="auto">
        {reason}
      </td>
    </tr>
  );
}
