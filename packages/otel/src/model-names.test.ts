import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { modelNames } from './model-names.ts'

test.each([
  ['https://api.example.com/v1', 'api.example.com', 443],
  ['http://10.1.2.80', '10.1.2.80', 80],
  ['http://[::1]:11434/v1', '::1', 11434],
])('a model at %s is on the server %s, port %i', (address, host, port) => {
  const { metrics } = modelNames('current')({ ...scriptedModel(['Hi.']), address })
  expect(metrics).toMatchObject({ 'server.address': host, 'server.port': port })
})

test.each([undefined, 'no address'])('a model at %s has no server address', (address) => {
  const { metrics } = modelNames('current')({ ...scriptedModel(['Hi.']), address })
  expect(Object.keys(metrics)).not.toContain('server.address')
})

test('a provider that returns a new model name each time does not create a series for each', () => {
  const names = modelNames('current')(scriptedModel(['Hi.']))
  const answered = Array.from({ length: 100 }, (_, at) => names.answeredBy(`model-${at}`).metrics)
  expect(new Set(answered).size).toBe(21)
  expect(answered.at(-1)).toBe(names.answeredBy(undefined).metrics)
  // The first ones keep their own attributes, the same object each time.
  expect(names.answeredBy('model-3')).toBe(names.answeredBy('model-3'))
  expect(answered[3]).toMatchObject({ 'gen_ai.response.model': 'model-3' })
})
