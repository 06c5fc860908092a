import { Button, FormSelect, FormSelectOption, Switch, ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { SearchMinusIcon, SearchPlusIcon } from "@patternfly/react-icons";
import { type ReactElement, useMemo, useState, useSyncExternalStore } from "react";
import type { Why, WhyChannel, WhyVersion } from "../../../../../pkg/consoleapi/why.ts";
import { Alert } from "../../../components/Alert.tsx";
import { whyText } from "../../../text/why.ts";
import { ChannelGraph, GraphLegend } from "./ChannelGraph.tsx";
import { VersionDetails } from "./VersionDetails.tsx";
import { VersionList } from "./VersionList.tsx";
import { findShownChannel, mergeLimits, type WhyParams } from "./whyParams.ts";

const t = whyText.versions;
const NARROW = matchMedia("(max-width: 768px)");
const SCALES = [0.6, 0.8, 1, 1.25, 1.5] as const;
const NORMAL_SCALE = 2;

function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      NARROW.addEventListener("change", listener);
      return () => NARROW.removeEventListener("change", listener);
    },
    () => NARROW.matches,
  );
}

/** All versions as the graph of a channel or as a list, and the details of the selected one. */
export function Versions({
  extension,
  why,
  params,
}: {
  readonly extension: string;
  readonly why: Why;
  readonly params: WhyParams;
}): ReactElement {
  const isNarrow = useNarrow();
  const channel = findShownChannel(why, params);
  const view = params.view ?? (isNarrow ? "list" : "graph");
  const selected = findSelected(why, params, channel);
  const tryAttempt = (version: WhyVersion) => (attempt: NonNullable<WhyVersion["attempt"]>) =>
    params.tryLimits(mergeLimits(why.limits, attempt), version);
  const details = selected ? (
    <VersionDetails extension={extension} why={why} tried={params.tried} version={selected} onTry={tryAttempt(selected)} />
  ) : (
    <p className="olm-subtle">{whyText.details.none}</p>
  );
  const isInline = view === "list" && isNarrow;
  if (why.versions.length === 0) return <p className="olm-subtle">{t.noVersions}</p>;
  return (
    <>
      <div className="olm-toolbar">
        <ToggleGroup aria-label={t.view}>
          {(["graph", "list"] as const).map((one) => (
            <ToggleGroupItem key={one} text={t[one]} isSelected={view === one} onChange={() => params.setView(one)} />
          ))}
        </ToggleGroup>
        {view === "graph" && channel && <ChannelSelect why={why} channel={channel} onSelect={params.showChannel} />}
        {view === "graph" && channel?.all && (
          <Switch
            id="olm-all-edges"
            label={t.allEdges}
            isChecked={params.hasAllEdges}
            onChange={(_event, isOn) => params.setAllEdges(isOn)}
          />
        )}
      </div>
      <div className={view === "graph" ? "olm-why-split olm-why-split-graph" : "olm-why-split"}>
        {view === "graph" ? (
          channel && <Graph why={why} channel={channel} params={params} selected={selected} />
        ) : (
          <div className="olm-versions-scroll">
            <VersionList versions={why.versions} selected={selected} onSelect={params.select} {...(isInline ? { details } : {})} />
            {why.omittedVersions > 0 && <p className="olm-subtle">{t.omitted(why.omittedVersions)}</p>}
          </div>
        )}
        {!isInline && <div className="olm-why-aside">{details}</div>}
      </div>
    </>
  );
}

/** Returns the selected version; without a selection, the first version if the shown channel has it, else its newest. */
function findSelected(why: Why, { bundle, catalog }: WhyParams, channel: WhyChannel | undefined): WhyVersion | undefined {
  const find = (name: string | undefined, of: string | undefined): WhyVersion | undefined =>
    why.versions.find((version) => version.bundle === name && (of === undefined || version.catalog === of));
  if (bundle !== undefined) return find(bundle, catalog);
  const { first } = why;
  const isInChannel = channel?.catalog === first?.catalog && channel?.nodes.some((node) => node.bundle === first?.bundle);
  return first && (isInChannel || !channel) ? find(first.bundle, first.catalog) : find(channel?.nodes[0]?.bundle, channel?.catalog);
}

function ChannelSelect({
  why: { channels },
  channel,
  onSelect,
}: {
  readonly why: Why;
  readonly channel: WhyChannel;
  readonly onSelect: (channel: WhyChannel) => void;
}): ReactElement {
  const hasCatalogs = new Set(channels.map(({ catalog }) => catalog)).size > 1;
  const format = ({ name, catalog, isDefault, isRequested, deprecated }: WhyChannel): string => {
    const marks = [
      ...(isDefault ? [t.defaultMark] : []),
      ...(isRequested ? [] : [t.notRequested]),
      ...(deprecated === undefined ? [] : [t.deprecatedMark]),
    ];
    return `${name}${hasCatalogs ? ` · ${catalog}` : ""}${marks.length > 0 ? ` (${marks.join(", ")})` : ""}`;
  };
  return (
    <label className="olm-why-channel">
      <span>{t.channel}</span>
      <FormSelect
        aria-label={t.channel}
        value={channels.indexOf(channel)}
        onChange={(_event, value) => {
          const chosen = channels[Number(value)];
          if (chosen) onSelect(chosen);
        }}
      >
        {channels.map((one, index) => (
          <FormSelectOption key={`${one.catalog} ${one.name}`} value={index} label={format(one)} />
        ))}
      </FormSelect>
    </label>
  );
}

function Graph({
  why,
  channel,
  params,
  selected,
}: {
  readonly why: Why;
  readonly channel: WhyChannel;
  readonly params: WhyParams;
  readonly selected: WhyVersion | undefined;
}): ReactElement {
  const [scale, setScale] = useState<number>(NORMAL_SCALE);
  const drawing = (params.hasAllEdges ? channel.all : undefined) ?? channel.main;
  const versions = useMemo(
    () => new Map(why.versions.filter(({ catalog }) => catalog === channel.catalog).map((version) => [version.bundle, version])),
    [why, channel],
  );
  return (
    <div className="olm-graph-panel">
      {channel.deprecated !== undefined && (
        <Alert isPlain component="h4" status="warning" title={t.channelDeprecated}>
          <bdi className="olm-break">{channel.deprecated}</bdi>
        </Alert>
      )}
      {channel.hint !== undefined && (
        <p className="olm-graph-hint olm-break" dir="auto">
          {channel.hint}
        </p>
      )}
      {drawing ? (
        <>
          <div className="olm-graph-tools">
            <GraphLegend drawing={drawing} />
            <Jumps why={why} channel={channel} params={params} />
            <Button
              variant="plain"
              aria-label={t.zoomOut}
              icon={<SearchMinusIcon />}
              isDisabled={scale === 0}
              onClick={() => setScale(scale - 1)}
            />
            <Button
              variant="plain"
              aria-label={t.zoomIn}
              icon={<SearchPlusIcon />}
              isDisabled={scale === SCALES.length - 1}
              onClick={() => setScale(scale + 1)}
            />
          </div>
          <div className="olm-graph-scroll">
            <ChannelGraph
              channel={channel}
              drawing={drawing}
              versions={versions}
              selected={params.bundle ?? selected?.bundle}
              scale={SCALES[scale] ?? 1}
              onSelect={(bundle) => params.select({ catalog: channel.catalog, bundle })}
            />
          </div>
        </>
      ) : (
        <p className="olm-break">{channel.undrawn}</p>
      )}
    </div>
  );
}

/** Selects the chosen or the installed version, in a channel that contains it. */
function Jumps({ why, channel, params }: { readonly why: Why; readonly channel: WhyChannel; readonly params: WhyParams }): ReactElement {
  const chosen = why.versions.find(({ state }) => state === "chosen");
  const installed = why.versions.find(({ isInstalled, state }) => isInstalled && state !== "chosen");
  const go = ({ catalog, bundle }: WhyVersion): void => {
    const has = (one: WhyChannel): boolean => one.catalog === catalog && one.nodes.some((node) => node.bundle === bundle);
    params.show({ catalog, bundle }, has(channel) ? channel : (why.channels.find(has) ?? channel));
  };
  return (
    <>
      {chosen && (
        <Button variant="link" size="sm" onClick={() => go(chosen)}>
          {t.goChosen}
        </Button>
      )}
      {installed && (
        <Button variant="link" size="sm" onClick={() => go(installed)}>
          {t.goInstalled}
        </Button>
      )}
    </>
  );
}
