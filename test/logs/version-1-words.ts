/** Words of protocol version 1 that version 2 renamed. */
export const version1 = { canceled: 'cancelled', unplayed: 'unheard' } as const

/** Matches a version 1 word in JSON. */
export const version1Words = /"(heard|unheard|declined|cancelled)"/
