import time
from django.db import connection
from stores import redactions
from stores.models import MemoryStore
from tests.world import Caller
def test_plan(call: Caller, tenant) -> None:
    ids=[]
    for i in range(40):
        ids.append(call("POST","/v1/memory_stores",{"name":f"s{i}"}).body["id"])
    with connection.cursor() as c:
        c.execute("""INSERT INTO stores_memoryversion(id, project_id, store_id, memory_id, operation, path, content, content_size_bytes, content_sha256, created_by_type, created_by_id)
         SELECT gen_random_uuid(), s.project_id, s.id, gen_random_uuid(), 'created', '/a/'||g, repeat('lorem ipsum '||g||' ', 140), 2200, lpad(to_hex(g),64,'0'), 'api_actor','x' FROM stores_memorystore s, generate_series(1,1000) g WHERE s.project_id=%s""",[tenant.project.id])
        c.execute("ANALYZE stores_memoryversion")
        keys=sorted(MemoryStore.objects.filter(project_id=tenant.project.id).values_list("id",flat=True))
        v={"store":keys[0],"number":100,"stores":keys[1:],"text":"nowhere to be found","rows":5000,"bytes":1<<25}
        c.execute("EXPLAIN (ANALYZE, BUFFERS) "+redactions._SCAN,v)
        print("\n".join(r[0] for r in c.fetchall()))
    for body in ({"contains":"nowhere to be"},{"contains":"ipsum 999 "},{"content_sha256":"0"*61+"3e7"}):
        page=None;n=0;found=0;t=time.perf_counter();worst=0
        while True:
            t1=time.perf_counter()
            r=call("POST","/v1/memory_versions/search",{**body,**({"page":page} if page else {}),"limit":100})
            worst=max(worst,time.perf_counter()-t1)
            assert r.status==200,r.body
            n+=1;found+=len(r.body["data"]);page=r.body["next_page"]
            if not page: break
        print(body,n,found,time.perf_counter()-t,worst)
    sid=ids[0]
    for q in ({"at":"2027-01-01T00:00:00Z"},):
        t=time.perf_counter(); r=call("GET",f"/v1/memory_stores/{sid}/snapshot",query=q); print("snap",r.status,len(r.body["data"]),time.perf_counter()-t)
    t=time.perf_counter(); r=call("GET",f"/v1/memory_stores/{sid}/changes",query={"limit":100}); print("ch",r.status,len(r.body["data"]),r.body["has_more"],time.perf_counter()-t)
