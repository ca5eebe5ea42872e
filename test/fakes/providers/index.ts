import { BLACK_FOREST_LABS } from './blackForestLabs.ts';
import { GEMINI } from './gemini.ts';
import { MODEL_ARK } from './modelArk.ts';
import type { ProviderCase } from './providerFake.ts';
import { STABILITY } from './stability.ts';
import { XAI } from './xai.ts';

/** Providers whose descriptions come with the service, each with a strict fake. */
export const PROVIDER_CASES: readonly ProviderCase[] = [BLACK_FOREST_LABS, ...GEMINI, ...MODEL_ARK, STABILITY, ...XAI];
