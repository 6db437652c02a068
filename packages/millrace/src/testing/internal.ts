// Checks and helpers for scripts, only for `@millrace/simulator` and `@millrace/voice/testing`.
export { checkKitOptions, clockProblem, milliseconds } from './kit-options.ts'
export { checkScript, finishes, missingRound, roundProblem } from './script-check.ts'
export { checkSizes, cut } from './scripted-model.ts'
