/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Peer: a sequence in PostgreSQL, one nextval() a query, or 1,000. PEERS_POSTGRES is what libpq
 * connects to.
 */
#include "bench/peers/worker.h"

#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#define MANY 1000

static int open_one(void **ret_state)
{
	const char *where =
		getenv("PEERS_POSTGRES"); // NOLINT(concurrency-mt-unsafe): nobody sets it
	PGconn *connection = PQconnectdb(where ? where : "");
	PGresult *one = PQprepare(connection, "one", "SELECT nextval('id')", 0, NULL);
	PGresult *many = PQprepare(connection, "many",
				   "SELECT nextval('id') FROM generate_series(1, 1000)", 0, NULL);
	int error = 0;

	if (PQresultStatus(one) != PGRES_COMMAND_OK || PQresultStatus(many) != PGRES_COMMAND_OK) {
		(void)fprintf(stderr, "PostgreSQL: %s", PQerrorMessage(connection));
		error = -ENOTCONN;
	}
	PQclear(one);
	PQclear(many);
	*ret_state = connection;
	return error;
}

/** One query. @param ids room for its IDs, or NULL */
static int query(PGconn *connection, const char *name, int count, union peer_id *ids)
{
	PGresult *result = PQexecPrepared(connection, name, 0, NULL, NULL, NULL, 0);
	int error = 0;

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != count) {
		(void)fprintf(stderr, "PostgreSQL: %s", PQerrorMessage(connection));
		error = -EPROTO;
	}
	for (int i = 0; i < count && error == 0; i++) {
		uint64_t id = strtoull(PQgetvalue(result, i, 0), NULL, 10);

		BENCH_KEEP(id);
		if (ids)
			ids[i].words[0] = id;
	}
	PQclear(result);
	return error;
}

static int run_one(void *state, uint64_t count, union peer_id *ids)
{
	int error = 0;

	for (uint64_t i = 0; i < count && error == 0; i++)
		error = query(state, "one", 1, ids ? ids + i : NULL);
	return error;
}

static int run_many(void *state, uint64_t count, union peer_id *ids)
{
	int error = 0;

	for (uint64_t i = 0; i < count && error == 0; i += MANY)
		error = query(state, "many", MANY, ids ? ids + i : NULL);
	return error;
}

int main(int argc, char **argv)
{
	static const struct peer_way ways[] = {
		{"nextval", open_one, NULL, run_one, 1},
		{"nextval1000", open_one, NULL, run_many, MANY},
	};

	return peer_main(argc, argv, ways, sizeof(ways) / sizeof(ways[0]));
}
