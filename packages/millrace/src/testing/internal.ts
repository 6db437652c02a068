// What a script means, and what is wrong with one: for `@millrace/simulator` and `@millrace/voice/testing` alone.
export { checkKitOptions, clockProblem, milliseconds } from './kit-options.ts'
export { checkScript, finishes, missingRound, roundProblem } from './script-check.ts'
export { checkSizes, cut } from './scripted-model.ts'
