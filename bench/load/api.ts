/** The little that is asked of the server beside following. */
export interface Api {
  create(thread: string): Promise<void>
  send(thread: string, message: string): Promise<void>
  list(): Promise<readonly Listed[]>
}

export interface Listed {
  readonly id: string
  readonly head: number
  readonly status: string
}

export function api(url: string): Api {
  async function request(path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${url}${path}`, {
      headers: { 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${path} was answered ${response.status} ${await response.text()}`)
    return response.json()
  }
  return {
    async create(id) {
      await request('/threads', { id })
    },
    async send(thread, message) {
      await request(`/threads/${thread}/messages`, { message })
    },
    async list() {
      const { threads } = (await request('/threads?limit=1000')) as { threads: readonly Listed[] }
      return threads
    },
  }
}
