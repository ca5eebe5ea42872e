import { registerAacEncoder } from '@mediabunny/aac-encoder';
import {
  AudioSample,
  AudioSampleSource,
  BufferSource,
  BufferTarget,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  MP4,
  Mp4OutputFormat,
  Output,
} from 'mediabunny';
import { computeDigest } from './artwork.ts';
import type { VideoRequest } from './renderRequests.ts';

const SAMPLE_RATE = 44_100;
/** The encoder pads its last packet: sound as long as the picture would lengthen the film. */
const SOUND_TRIM_SECONDS = 0.06;

registerAacEncoder();

/**
 * Muxes encoded pictures and, if requested, sound into an MP4 with its index first, so that it plays while it loads.
 */
export async function muxVideo(pictures: Uint8Array, request: VideoRequest, frameRate: number): Promise<Uint8Array> {
  const input = new Input({ source: new BufferSource(pictures), formats: [MP4] });
  const track = (await input.getPrimaryVideoTrack())!;
  const decoderConfig = (await track.getDecoderConfig())!;
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const video = new EncodedVideoPacketSource('avc');
  output.addVideoTrack(video, { frameRate });
  const audio = request.hasSound ? new AudioSampleSource({ codec: 'aac', bitrate: 96_000 }) : undefined;
  if (audio) output.addAudioTrack(audio);
  await output.start();

  let index = 0;
  for await (const packet of new EncodedPacketSink(track).packets()) {
    // The encoder's own container marks every picture as a key frame, and seeking then shows grey: detect them here.
    const type = isKeyPicture(packet.data) ? 'key' : 'delta';
    await video.add(packet.clone({ type, timestamp: index / frameRate, duration: 1 / frameRate }), { decoderConfig });
    index += 1;
  }
  if (audio) {
    const data = synthesizeChord(computeDigest(request), request.durationSeconds - SOUND_TRIM_SECONDS);
    const sample = new AudioSample({ data, format: 'f32', numberOfChannels: 1, sampleRate: SAMPLE_RATE, timestamp: 0 });
    await audio.add(sample);
    sample.close();
  }
  await output.finalize();
  input.dispose();
  return new Uint8Array(target.buffer!);
}

/**
 * Returns true if an H.264 picture can be decoded on its own. Its units are each prefixed by their length in four
 * bytes.
 */
function isKeyPicture(data: Uint8Array): boolean {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at + 4 < data.length; at += 4 + view.getUint32(at)) {
    if ((data[at + 4]! & 0x1f) === 5) return true;
  }
  return false;
}

/** Synthesizes a soft chord that swells and fades, with a root derived from the digest. */
function synthesizeChord(digest: Buffer, seconds: number): Float32Array<ArrayBuffer> {
  const root = 110 * 2 ** ((digest[20]! % 12) / 12);
  const tones = [1, 1.5, 2, digest[21]! % 2 === 0 ? 2.5 : 2.4].map((factor) => root * factor);
  const samples = new Float32Array(Math.floor(seconds * SAMPLE_RATE));
  for (let index = 0; index < samples.length; index += 1) {
    const time = index / SAMPLE_RATE;
    const swell = Math.min(1, time, seconds - time) * (0.75 + 0.25 * Math.sin(time * 2));
    let sum = 0;
    for (const tone of tones) sum += Math.sin(2 * Math.PI * tone * time);
    samples[index] = (sum / tones.length) * 0.3 * swell;
  }
  return samples;
}
