import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { curlOf } from './curl.ts'

const request = {
  url: 'https://api.example.com/v1/chat/completions?key=[key]',
  headers: {
    'content-type': 'application/json',
    authorization: '[key]',
    'x-api-key': '[key]',
  },
  body: '{"text":"it\'s @home $HOME `id` \\n \\u0000 [key]"}',
}

it('a shell passes curl the exact request, with the API key from the environment', async () => {
  // A function in place of curl that prints its arguments.
  const script = `curl() { for one; do printf '%s\\0' "$one"; done; }\n${curlOf(request)}`
  const { stdout } = await promisify(execFile)('sh', ['-c', script], {
    env: { ...process.env, API_KEY: 'k 1"2' },
  })
  expect(stdout.split('\0').slice(0, -1)).toEqual([
    '-N',
    'https://api.example.com/v1/chat/completions?key=k 1"2',
    '-H',
    'content-type: application/json',
    '-H',
    'authorization: Bearer k 1"2',
    '-H',
    'x-api-key: k 1"2',
    '--data-raw',
    request.body,
  ])
})

it('a request without a body is a GET', () => {
  const url = 'https://api.example.com/v1/responses/resp_1?stream=true'
  expect(curlOf({ url, headers: {}, body: '' })).toBe(`curl -N '${url}'`)
})
