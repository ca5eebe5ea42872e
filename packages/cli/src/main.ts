#!/usr/bin/env node
import { runCli } from './cli.ts';
import { createProcessTerminal } from './processTerminal.ts';

process.exitCode = await runCli(process.argv.slice(2), createProcessTerminal());
