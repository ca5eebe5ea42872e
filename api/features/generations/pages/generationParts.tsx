import type { VNode } from 'preact';
import { isCanceledByOwner } from '../../../../shared/domain/generations/failureReasons.ts';
import { now } from '../../../../shared/lib/clock.ts';
import { truncateText } from '../../../../shared/lib/truncateText.ts';
import { presentGeneration } from '../../../../shared/presenters/generation.ts';
import type { Generation } from '../../../../shared/tables/Generation.ts';
import { formatRelativeTime } from '../../../web/components/formatTime.ts';
import { Icon } from '../../../web/components/icon.tsx';
import { t as shared } from '../../../web/texts.ts';
import { STATUSES, t } from './texts.ts';

const TILE_CHARACTERS = 60;

/** A generation as clients see it, and whether its owner has asked to cancel it. */
export interface ShownGeneration extends ReturnType<typeof presentGeneration> {
  isCancelRequested: boolean;
  /** True for one of a test key, which the owner can only read. */
  isTest: boolean;
}

export function toShownGeneration(generation: Generation, isTest: boolean): ShownGeneration {
  return { ...presentGeneration(generation), isCancelRequested: generation.cancel_requested_at !== null, isTest };
}

const TAG_CLASSES = {
  queued: 'tag off',
  succeeded: 'tag',
  failed: 'tag warn',
  canceled: 'tag off',
  canceling: 'tag off',
} as const;

export function StatusTag({ generation }: { generation: ShownGeneration }): VNode {
  const status = getShownStatus(generation);
  return <span class={TAG_CLASSES[status]}>{STATUSES[status]()}</span>;
}

function getShownStatus({
  status,
  error_message: error,
  isCancelRequested,
}: ShownGeneration): keyof typeof TAG_CLASSES {
  if (isCanceledByOwner(error)) return 'canceled';
  return status === 'queued' && isCancelRequested ? 'canceling' : status;
}

/** Reason of a failure; null for a cancellation, which the status says already. */
export function getShownError({ error_message: error }: ShownGeneration): string | null {
  return isCanceledByOwner(error) ? null : error;
}

interface PartProps {
  generation: ShownGeneration;
  /** The beginning of its prompt. */
  name: string;
}

type ShownFile = Pick<ShownGeneration, 'output_url' | 'thumbnail_url'>;

/** The pictures, or players for the videos, with their thumbnails. Without a file: what became of it. */
export function Previews({ generation, name }: PartProps): VNode {
  const { output_url, thumbnail_url, outputs = [{ output_url, thumbnail_url }] } = generation;
  return (
    <>
      {outputs.map((file) => (
        <Preview generation={generation} file={file} name={name} />
      ))}
    </>
  );
}

function Preview({ generation, file, name }: PartProps & { file: ShownFile }): VNode {
  const { output_url: url, thumbnail_url: thumbnail } = file;
  const { kind } = generation;
  if (url === null) return <NoPreview generation={generation} />;
  if (kind === 'video')
    return (
      <video class="preview" controls preload="none" poster={thumbnail ?? undefined} src={url} aria-label={name} />
    );
  return (
    <a href={url}>
      <img class="preview" src={thumbnail ?? url} alt={name} loading="lazy" />
    </a>
  );
}

const PREVIEW_ICONS = { queued: 'clock', succeeded: 'play', failed: 'bad' } as const;

/** The status repeats what is beside the preview. */
function NoPreview({ generation }: Pick<PartProps, 'generation'>): VNode {
  const status = getShownStatus(generation);
  return (
    <span class="preview empty" aria-hidden="true">
      <Icon name={PREVIEW_ICONS[generation.status]} />
      {status === 'queued' ? STATUSES.queuedFor({ time: describeElapsed(generation.created_at) }) : STATUSES[status]()}
    </span>
  );
}

/** Describes the time since a creation in seconds or minutes. */
function describeElapsed(createdAt: Date): string {
  const seconds = Math.max(0, Math.floor((now().getTime() - createdAt.getTime()) / 1_000));
  return seconds < 120 ? STATUSES.seconds({ seconds }) : STATUSES.minutes({ minutes: Math.floor(seconds / 60) });
}

/** The picture, or one of the video, as part of a link that names the generation. */
export function Poster({ generation }: Pick<PartProps, 'generation'>): VNode {
  const { kind, output_url: url, thumbnail_url: thumbnail } = generation;
  const picture = thumbnail ?? (kind === 'image' ? url : null);
  if (url === null || picture === null) return <NoPreview generation={generation} />;
  return (
    <span class="poster">
      <img class="preview" src={picture} alt="" loading="lazy" />
      {kind === 'video' ? <Icon name="play" /> : null}
    </span>
  );
}

/** Small picture of a generation, which leads to its page. */
export function GenerationTile({ generation, createdAt }: { generation: ShownGeneration; createdAt: Date }): VNode {
  return (
    <li>
      <a href={`/account/library/${generation.uuid}/`}>
        <Poster generation={generation} />
        <span class="name">{truncateText(generation.prompt, TILE_CHARACTERS)}</span>
      </a>
      <span class="quiet small">
        {t.creditsAndAge({ credits: generation.credits_charged, time: formatRelativeTime(createdAt) })}
      </span>
    </li>
  );
}

/** Links to download a generation, and for members who may, to cancel and delete it. */
export function GenerationActions({ generation, name, mayChange }: PartProps & { mayChange: boolean }): VNode {
  const { uuid, status, output_url: url, outputs = [{ output_url: url }], isCancelRequested, isTest } = generation;
  const numbers = outputs.length === 1 ? [''] : outputs.map((_, index) => ` ${index + 1}`);
  return (
    <div class="buttons">
      {outputs.map(({ output_url: file }, index) =>
        file === null ? null : (
          <a
            class="button slight"
            href={file}
            download
            aria-label={t.downloadNamed({ name: `${name}${numbers[index]}` })}
          >
            {shared.download()}
            {numbers[index]}
          </a>
        ),
      )}
      {status === 'queued' && !isCancelRequested && !isTest && mayChange ? (
        <a class="button slight" href={`/account/library/${uuid}/cancel/`} aria-label={t.cancelNamed({ name })}>
          {shared.cancel()}
        </a>
      ) : null}
      {isTest || !mayChange ? null : (
        <a class="button slight danger" href={`/account/library/${uuid}/delete/`} aria-label={t.deleteNamed({ name })}>
          {shared.delete()}
        </a>
      )}
    </div>
  );
}
