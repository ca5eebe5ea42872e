import { COMFYUI } from './comfyui.ts';
import { DIFFUSERS } from './diffusers.ts';
import { BLACK_FOREST_LABS } from './blackForestLabs.ts';
import type { ProviderCase } from './providerFake.ts';
import { STABILITY } from './stability.ts';

/** Providers whose descriptions come with the service, each with a strict fake. */
export const PROVIDER_CASES: readonly ProviderCase[] = [BLACK_FOREST_LABS, ...COMFYUI, ...DIFFUSERS, STABILITY];
