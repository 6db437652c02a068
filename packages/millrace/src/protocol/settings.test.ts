import { expect, test } from 'vitest'
import { capabilitiesProblem, mergeSettings, settingsProblem } from './settings.ts'

test('settings override the defaults, and only extra and headers are merged', () => {
  const under = { temperature: 0, seed: 1, extra: { a: 1, b: 1 }, headers: { x: '1', y: '1' } }
  expect(mergeSettings(under, { temperature: 1, extra: { b: 2 }, headers: { y: '2' } })).toEqual({
    temperature: 1,
    seed: 1,
    extra: { a: 1, b: 2 },
    headers: { x: '1', y: '2' },
  })
  expect(mergeSettings({}, under)).toEqual(under)
})

test('undefined settings override nothing', () => {
  expect(mergeSettings({ seed: 1, extra: { a: 1 } }, { seed: undefined, extra: undefined })).toEqual({
    seed: 1,
    extra: { a: 1 },
  })
})

test.each([
  [{ temperature: Number.NaN }, "'temperature' must be a number, not NaN"],
  [{ stop: 'x' }, "'stop' must be an array of strings"],
  [{ stop: [1] }, "'stop' must be an array of strings"],
  [{ reasoning: 'much' }, "'reasoning' must be 'none' or"],
  [{ headers: { a: 1 } }, "'headers' must be a plain object of strings"],
  [{ headers: new Headers({ a: '1' }) }, "'headers' must be a plain object of strings"],
  [{ headers: { 'a b': '1' } }, 'which is not a valid header name'],
  [{ temprature: 1 }, "has no 'temprature': did you mean 'temperature'?"],
  [{ top_k: 1 }, "; provider-specific settings go into 'extra'"],
  [{ extra: 1 }, "'extra' must be an object, not a number"],
  [{ extra: { stream: false } }, "since Millrace always streams: remove 'stream' from 'extra'"],
  [{ extra: { stream: undefined } }, "remove 'stream' from 'extra'"],
])('%j is rejected', (settings, problem) => {
  expect(settingsProblem(settings)).toContain(problem)
})

test('valid settings have no problem', () => {
  expect(
    settingsProblem({ temperature: 0, stop: ['x'], headers: { 'x-a': '1' }, seed: undefined }),
  ).toBeFalsy()
  expect(settingsProblem({ extra: { stream: true, top_k: 1 } })).toBeFalsy()
})

test('capabilities are checked by name and must be booleans', () => {
  expect(capabilitiesProblem({ images: false, files: undefined })).toBeFalsy()
  expect(capabilitiesProblem({ image: false })).toContain("did you mean 'images'?")
  expect(capabilitiesProblem({ images: 1 })).toContain("'images' must be true or false")
})
